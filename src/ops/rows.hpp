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

/// Merges leading axes that lie evenly in every operand, so that most tensors become plain rows.
/// Refuses what still needs more than three.
Result<RowDims> collapse_rows(const Check& check, const Shape& leading,
                              std::initializer_list<RowOperand> operands);

int64_t row_count(const RowDims& rows) noexcept;

}  // namespace norite::ops
