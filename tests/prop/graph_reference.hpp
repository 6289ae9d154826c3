// SPDX-License-Identifier: MIT
// Operations of random graphs in float64, each value with how far a right result may be from it.
#pragma once

#include <norite/dtype.hpp>

#include <cmath>
#include <vector>

namespace norite::test {

enum class Operation { add, mul, scale, silu, gelu_mul, norm, norm_mul, norm_backward, rope };
constexpr int kOperations = 9;
constexpr float kScaleFactor = 0.75f;
constexpr float kEps = 1e-6f;
constexpr float kTheta = 10000;

/// A value without any rounding, and a bound on its distance from what was computed. The bound is
/// infinite where the dtype's range, or that of the squares of a norm, may have been left.
struct Bounded {
  double value = 0;
  double error = 0;

  /// What the computed value is at most.
  [[nodiscard]] double size() const { return std::abs(value) + error; }
};

using Rows = std::vector<Bounded>;  // row-major; to a rotation, row i is the head at position i

/// What an operation makes of its operands. Two things add up to the bound: what the operation does
/// to the errors of its operands, and the tolerance that its own cases have, with one rounding to
/// the dtype. Who fuses operations leaves roundings out and stays within it.
Rows reference(Operation operation, const Rows& a, const Rows& b, int64_t dim, DType dtype);

}  // namespace norite::test
