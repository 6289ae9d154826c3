// SPDX-License-Identifier: MIT
// What holds for RMS norm whatever the numbers are.
#include <gtest/gtest.h>
// RapidCheck's glue wants GoogleTest first.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "host_values.hpp"

namespace norite {
namespace {

using test::must;

const Device& device() {
  static const Device cpu = must(Device::open("cpu"));
  return cpu;
}

struct Rows {
  int64_t rows, dim;
  std::vector<float> x;

  [[nodiscard]] Shape shape() const { return {rows, dim}; }
};

Rows any_rows() {
  const int64_t rows = *rc::gen::inRange<int64_t>(1, 12);
  const int64_t dim = *rc::gen::inRange<int64_t>(1, 150);
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  return {rows, dim, test::pattern(rows * dim, seed)};
}

std::vector<float> normalise(const Rows& in, float eps) {
  const Buffer x = test::upload(device(), DType::f32, in.shape(), in.x);
  test::run(device(), [&](Encoder& e) { return ops::rms_norm(e, {.x = x, .y = x, .eps = eps}); });
  return test::download(x);
}

// Powers of two scale exactly, so with eps scaled by the square every bit must agree: a factor on x
// changes nothing but the share of eps.
RC_GTEST_PROP(RmsNorm, ScalingXScalesNothingButEpsShare, ()) {
  const Rows rows = any_rows();
  const int exponent = *rc::gen::inRange(-6, 7);
  Rows scaled = rows;
  for (float& value : scaled.x) value = std::ldexp(value, exponent);
  const float eps = 1e-3f;
  RC_ASSERT(normalise(scaled, std::ldexp(eps, 2 * exponent)) == normalise(rows, eps));
}

RC_GTEST_PROP(RmsNorm, RowsHaveMeanSquareOneWithoutEps, ()) {
  const Rows rows = any_rows();
  const auto y = normalise(rows, 0.0f);
  for (int64_t row = 0; row < rows.rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < rows.dim; ++i) {
      const double value = y[static_cast<size_t>(row * rows.dim + i)];
      sum += value * value;
    }
    RC_ASSERT(std::abs(sum / static_cast<double>(rows.dim) - 1) < 1e-5);
  }
}

RC_GTEST_PROP(RmsNorm, PermutingRowsPermutesResults, ()) {
  const Rows rows = any_rows();
  std::vector<int64_t> order(static_cast<size_t>(rows.rows));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(*rc::gen::arbitrary<uint32_t>()));
  const auto permuted = [&](const std::vector<float>& values) {
    std::vector<float> result;
    for (const int64_t row : order) {
      const auto first = values.begin() + row * rows.dim;
      result.insert(result.end(), first, first + rows.dim);
    }
    return result;
  };
  RC_ASSERT(normalise({rows.rows, rows.dim, permuted(rows.x)}, 1e-6f) ==
            permuted(normalise(rows, 1e-6f)));
}

// The norm does not change when x is scaled, so the gradient has no component along x.
RC_GTEST_PROP(RmsNormBackward, GradientIsOrthogonalToXWithoutEps, ()) {
  const Rows rows = any_rows();
  const auto dy = test::pattern(rows.rows * rows.dim, *rc::gen::arbitrary<uint32_t>());
  const Buffer dx = must(device().empty(DType::f32, rows.shape()));
  test::run(device(), [&](Encoder& e) {
    return ops::rms_norm_backward(e, {.x = test::upload(device(), DType::f32, rows.shape(), rows.x),
                                      .dy = test::upload(device(), DType::f32, rows.shape(), dy),
                                      .dx = dx,
                                      .eps = 0.0f});
  });
  const auto gradient = test::download(dx);
  for (int64_t row = 0; row < rows.rows; ++row) {
    double dot = 0;
    double size = 0;
    for (int64_t i = row * rows.dim; i < (row + 1) * rows.dim; ++i) {
      const auto at = static_cast<size_t>(i);
      dot += double{gradient[at]} * rows.x[at];
      size += std::abs(double{dy[at]} * rows.x[at]);
    }
    double squares = 0;
    for (int64_t i = row * rows.dim; i < (row + 1) * rows.dim; ++i) {
      squares += double{rows.x[static_cast<size_t>(i)]} * rows.x[static_cast<size_t>(i)];
    }
    const double r = 1 / std::sqrt(squares / static_cast<double>(rows.dim));
    RC_ASSERT(std::abs(dot) <= 1e-5 * (r * size + 1e-30));
  }
}

}  // namespace
}  // namespace norite
