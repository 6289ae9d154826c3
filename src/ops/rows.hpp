// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "common/rows.h"
#include "ops/check.hpp"

namespace norite::ops {

/// An operand over the rows of x, and where its row strides go. One without a view is left alone.
struct RowOperand {
  Named operand;
  RowStrides* strides;
};

/// The order in which a kernel walks the rows: where each row stands alone, best the order of the
/// first operand's memory; where rows are summed, the logical one, so that the sum's order follows
/// from the shape and not from the layout.
enum class RowOrder : uint8_t { memory, logical };

/// Merges leading axes that lie evenly in every operand, so that most tensors become plain rows.
/// Refuses what still needs more than three.
Result<RowDims> collapse_rows(const Check& check, const Shape& leading, RowOrder order,
                              std::initializer_list<RowOperand> operands);

inline int64_t row_count(const RowDims& rows) noexcept {
  return rows.count[0] * rows.count[1] * rows.count[2];
}

}  // namespace norite::ops
