// SPDX-License-Identifier: MIT
#include "cases/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace norite::cases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The value that would follow the dtype's largest.
double first_beyond(DType dtype) { return dtype == DType::f16 ? 0x1p16 : 0x1p128; }

/// |got − value| as a share of what is allowed, in units of the tolerance: where there is no slack,
/// that is |got − value| / magnitude.
double error_of(DType dtype, double got, const Expected& expected, double tolerance) {
  if (std::isnan(expected.value)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (got == expected.value) return 0;
  // A value beyond the dtype's range is right as an infinity, one just below it nearly so.
  if (std::isinf(got)) {
    if (got == round_to(dtype, expected.value)) return 0;
    if (std::isinf(expected.value)) return kInfinity;
    got = std::copysign(first_beyond(dtype), got);
  }
  const double difference = std::abs(got - expected.value);
  const double slack = expected.slack + subnormal_step(dtype);
  if (tolerance == 0) return difference <= slack ? 0 : kInfinity;
  return difference * tolerance / (tolerance * expected.magnitude + slack);
}

/// "[2, 17]"
std::string position(const Shape& shape, int64_t index) {
  Shape coordinates = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    coordinates[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return to_string(coordinates);
}

double severity(const OutputCheck& check) {
  if (!check.passed()) return kInfinity;
  return check.tolerance > 0 ? check.max_error / check.tolerance : 0;
}

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

double subnormal_step(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-133;
    default:
      return 0x1p-149;
  }
}

double tolerance(DType output, int64_t terms, int roundings) {
  const double arithmetic = 8 + 0.5 * std::sqrt(static_cast<double>(terms));
  return roundings * unit_roundoff(output) + arithmetic * unit_roundoff(DType::f32);
}

bool Outcome::passed() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.passed(); });
}

const OutputCheck& Outcome::worst() const {
  return *std::max_element(outputs.begin(), outputs.end(),
                           [](const auto& a, const auto& b) { return severity(a) < severity(b); });
}

OutputCheck& Comparison::entry(const Tensor& tensor) {
  const auto given = given_.find(tensor.name());
  const std::string& name = given == given_.end() ? tensor.name() : given->second.label;
  for (OutputCheck& check : outcome_.outputs) {
    if (check.output == name) return check;
  }
  return outcome_.outputs.emplace_back(OutputCheck{.output = name});
}

void Comparison::elements(const Tensor& output, const Snapshot& got, int64_t first,
                          std::span<const Expected> expected, double tolerance) {
  OutputCheck& check = entry(output);
  check.tolerance = tolerance;
  const Values values = got.values(first, static_cast<int64_t>(expected.size()));
  const auto given = given_.find(output.name());
  for (size_t i = 0; i < values.size(); ++i) {
    Expected want = expected[i];
    const int64_t index = first + static_cast<int64_t>(i);
    if (given != given_.end()) want.value = given->second.values[static_cast<size_t>(index)];
    double error = error_of(output.view().dtype(), values[i], want, tolerance);
    if (std::isnan(values[i]) && got.unwritten(index)) error = kInfinity;
    check.max_error = std::max(check.max_error, error);
    if (error <= tolerance || !check.passed()) continue;
    check.detail =
        fmt::format("{}{} is {:.9g}, expected {:.9g} (error {:.3g})", check.output,
                    position(output.view().shape(), index), values[i], want.value, error);
  }
}

Outcome Comparison::outcome() && {
  const auto is_given = [&](const OutputCheck& check) {
    return std::ranges::any_of(
        given_, [&](const auto& given) { return given.second.label == check.output; });
  };
  if (!given_.empty()) {
    std::erase_if(outcome_.outputs,
                  [&](const OutputCheck& check) { return check.passed() && !is_given(check); });
  }
  return std::move(outcome_);
}

void Comparison::damage(const Tensor& tensor, std::string_view detail) {
  OutputCheck& check = entry(tensor);
  if (check.passed()) check.detail = fmt::format("{}: {}", check.output, detail);
}

}  // namespace norite::cases
