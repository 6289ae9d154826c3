// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "elementwise/params.h"

namespace norite::ops {

/// A function as kernel text has it (kernels/elementwise/functions.h).
struct FunctionText {
  /// Of its inputs a, b, c and its scalar s; a float, or a float2 where there are two outputs.
  std::string_view expression;
  int inputs = 1;
  int outputs = 1;
};

FunctionText function_text(ElementwiseFunction function) noexcept;

/// Inputs as ElementwiseStep counts them.
ElementwiseStep make_step(ElementwiseFunction function, float scalar,
                          std::array<uint32_t, 3> inputs = {0, 1, 2});
uint32_t step_input(const ElementwiseStep& step, int index);

/// The statements that assign a chain's results to out0 and, where it is wanted, out1; they live as
/// long as the program.
const char* chain_text(std::span<const ElementwiseStep> steps, bool second_output);

}  // namespace norite::ops
