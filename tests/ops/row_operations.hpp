// SPDX-License-Identifier: MIT
// The operations that work row by row, with one set of operands for all of them.
#pragma once

#include <norite/norite.hpp>

#include <functional>
#include <vector>

namespace norite::test {

struct RowOperands {
  View x, weight, other;          // inputs: `other` is a residual, a scale or a gradient
  View y, second, per_row, sums;  // outputs: `sums` is f32 [dim], what all rows add up to

  /// Inputs with values that depend on the shape alone: [rows, dim] or [tokens, heads, dim].
  static RowOperands make(const Device& device, DType dtype, const Shape& shape);
  /// The same inputs, other outputs.
  [[nodiscard]] RowOperands with_own_outputs(const Device& device) const;
  [[nodiscard]] std::vector<View> outputs() const { return {y, second, per_row, sums}; }
};

struct RowOperation {
  const char* name;
  int64_t heads;  // 0: rows [rows, dim]; else [tokens, heads, dim]
  std::function<Result<void>(Encoder&, const RowOperands&, int64_t first_row)> encode;
};

const std::vector<RowOperation>& row_operations();

}  // namespace norite::test
