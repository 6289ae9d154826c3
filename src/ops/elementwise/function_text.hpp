// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "elementwise/params.h"

namespace norite::ops {

/// A function as kernel text has it (kernels/elementwise/functions.h).
struct FunctionText {
  /// Of in0, in1, ... and params.scalar; a float, or a float2 where there are two outputs.
  std::string_view expression;
  int outputs = 1;
};

FunctionText function_text(ElementwiseFunction function) noexcept;

/// The statements that assign a function's results to out0 and, where it is wanted, out1; they live
/// as long as the program.
std::string_view chain_text(ElementwiseFunction function, bool second_output);

}  // namespace norite::ops
