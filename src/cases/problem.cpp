// SPDX-License-Identifier: MIT
#include "cases/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace norite::cases {
namespace {

Result<void> expect_shape(const Given& given, const Shape& shape) {
  if (given.shape == shape) return {};
  return fail(Code::bad_file, fmt::format("{} has shape {}, expected {}", given.label,
                                          to_string(given.shape), to_string(shape)));
}

/// Positions are the only integers that operations take: whole numbers of 32 bits.
Result<void> expect_integers(const Given& given, DType dtype) {
  if (is_float(dtype)) return {};
  const double least = dtype == DType::u32 ? 0 : -0x1p31;
  const double limit = dtype == DType::u32 ? 0x1p32 : 0x1p31;
  for (const double value : given.values) {
    if (value >= least && value < limit && value == std::floor(value)) continue;
    return fail(Code::bad_file, fmt::format("{} contains {}, which is not of dtype {}", given.label,
                                            value, name(dtype)));
  }
  return {};
}

}  // namespace

Result<const Tensor*> Problem::input(std::string name, DType dtype, const Shape& shape,
                                     const Layout& layout, Values values, Role role) {
  if (data_.fill == FillKind::none) return unwritten(std::move(name), dtype, shape, layout, role);
  const int64_t dim = shape.empty() ? 1 : shape.back();
  const int64_t count = layout.repeat_row ? dim : shape.count().value_or(0);
  if (const auto given = data_.inputs.find(name); given != data_.inputs.end()) {
    NORITE_TRY(expect_shape(given->second, shape));
    NORITE_TRY(expect_integers(given->second, dtype));
    values = given->second.values;
  } else if (values.empty()) {
    const std::string seed = fmt::format("{}/{}", data_.seed, name);
    values = random_values(seed, std::min(count, Tensor::kPeriod));
    const bool is_activation = shape.rank() >= 2;  // weights stay ordinary
    if (is_activation && data_.fill == FillKind::special) make_special(values, dim, dtype, seed);
  }
  NORITE_TRY_ASSIGN(Tensor tensor,
                    Tensor::make(device_, std::move(name), dtype, shape, layout, values));
  return &entries_.emplace_back(Entry{std::move(tensor), role}).tensor;
}

Result<const Tensor*> Problem::output(std::string name, DType dtype, const Shape& shape,
                                      const Layout& layout) {
  if (data_.fill == FillKind::none) {
    return unwritten(std::move(name), dtype, shape, layout, Role::output);
  }
  if (const auto given = data_.results.find(name); given != data_.results.end()) {
    NORITE_TRY(expect_shape(given->second, shape));
  }
  NORITE_TRY_ASSIGN(Tensor tensor,
                    Tensor::make(device_, std::move(name), dtype, shape, layout, {}));
  return &entries_.emplace_back(Entry{std::move(tensor), Role::output}).tensor;
}

Result<const Tensor*> Problem::unwritten(std::string name, DType dtype, const Shape& shape,
                                         const Layout& layout, Role role) {
  NORITE_TRY_ASSIGN(Tensor tensor,
                    Tensor::allocate(device_, std::move(name), dtype, shape, layout));
  return &entries_.emplace_back(Entry{std::move(tensor), role}).tensor;
}

Result<void> Problem::run() const {
  Encoder encoder = device_.encoder();
  NORITE_TRY(encode(encoder));
  return encoder.submit_and_wait();
}

Result<Outcome> Problem::check() const {
  Comparison comparison(data_.results);
  NORITE_TRY(compare(comparison));
  for (const Entry& entry : entries_) {
    NORITE_TRY_ASSIGN(const Snapshot snapshot, entry.tensor.snapshot());
    if (const auto damage = snapshot.damage()) comparison.damage(entry.tensor, *damage);
    if (entry.role == Role::input && !entry.tensor.unchanged(snapshot)) {
      comparison.damage(entry.tensor, "the operation changed this input");
    }
  }
  return std::move(comparison).outcome();
}

Result<void> Problem::reset() {
  for (Entry& entry : entries_) NORITE_TRY(entry.tensor.reset());
  return {};
}

Result<std::vector<std::byte>> Problem::output_bytes() const {
  std::vector<std::byte> bytes;
  for (const Entry& entry : entries_) {
    if (entry.role == Role::input) continue;
    NORITE_TRY_ASSIGN(const Snapshot snapshot, entry.tensor.snapshot());
    const std::vector<std::byte> elements = snapshot.elements();
    bytes.insert(bytes.end(), elements.begin(), elements.end());
  }
  return bytes;
}

Result<std::vector<std::byte>> Problem::bytes_of(std::string_view tensor) const {
  for (const Entry& entry : entries_) {
    if (entry.tensor.name() != tensor) continue;
    NORITE_TRY_ASSIGN(const Snapshot snapshot, entry.tensor.snapshot());
    return snapshot.elements();
  }
  return fail(Code::not_found, fmt::format("the problem has no tensor '{}'", tensor));
}

std::vector<int64_t> Problem::checked_rows(const Tensor& tensor) {
  constexpr int64_t kMaxElements = int64_t{1} << 22;
  const int64_t rows = tensor.row_count();
  const int64_t checked = std::min(rows, std::max<int64_t>(kMaxElements / tensor.row_length(), 2));
  std::vector<int64_t> result;
  result.reserve(static_cast<size_t>(checked));
  for (int64_t i = 0; i < checked; ++i) {
    result.push_back(checked == 1 ? 0 : i * (rows - 1) / (checked - 1));
  }
  return result;
}

}  // namespace norite::cases
