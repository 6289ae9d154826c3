// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "elementwise/params.h"
#include "ops/check.hpp"

namespace norite::ops {

/// An operand and its position in the kernel's arguments. One without a view is left alone.
struct ElementwiseOperand {
  ElementwiseArgument position;
  Named operand;
};

/// Merges the axes that lie evenly in every operand and orders them as the first one's memory, so
/// that contiguous tensors become a single row: sets rows, dim and every operand's strides. All
/// have the same shape. Refuses what still needs more than four axes.
Result<void> merge_axes(const Check& check, std::initializer_list<ElementwiseOperand> operands,
                        ElementwiseParams& params);

}  // namespace norite::ops
