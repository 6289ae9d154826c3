// SPDX-License-Identifier: MIT
#include "ops/elementwise/function_text.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace norite::ops {

FunctionText function_text(ElementwiseFunction function) noexcept {
  switch (function) {
    case kElementwiseCopy:
      return {"in0"};
    case kElementwiseScale:
      return {"in0 * params.scalar"};
    case kElementwiseAdd:
      return {"in0 + in1"};
    case kElementwiseMul:
      return {"in0 * in1"};
    case kElementwiseMulBackward:
      return {"mul_backward(in0, in1, in2)", 2};
    case kElementwiseSilu:
      return {"activate<Silu>(in0)"};
    case kElementwiseSiluBackward:
      return {"activate_backward<Silu>(in0, in1)"};
    case kElementwiseSiluMul:
      return {"activate_mul<Silu>(in0, in1)"};
    case kElementwiseSiluMulBackward:
      return {"activate_mul_backward<Silu>(in0, in1, in2)", 2};
    case kElementwiseGelu:
      return {"activate<Gelu>(in0)"};
    case kElementwiseGeluBackward:
      return {"activate_backward<Gelu>(in0, in1)"};
    case kElementwiseGeluMul:
      return {"activate_mul<Gelu>(in0, in1)"};
    case kElementwiseGeluMulBackward:
      return {"activate_mul_backward<Gelu>(in0, in1, in2)", 2};
    case kElementwiseGeluTanh:
      return {"activate<GeluTanh>(in0)"};
    case kElementwiseGeluTanhBackward:
      return {"activate_backward<GeluTanh>(in0, in1)"};
    case kElementwiseGeluTanhMul:
      return {"activate_mul<GeluTanh>(in0, in1)"};
    case kElementwiseGeluTanhMulBackward:
      return {"activate_mul_backward<GeluTanh>(in0, in1, in2)", 2};
    case kElementwiseSoftcap:
      return {"softcap(in0, params.scalar)"};
    case kElementwiseSoftcapBackward:
      return {"softcap_backward(in0, in1, params.scalar)"};
  }
  return {"in0"};
}

namespace {

std::string make_chain_text(ElementwiseFunction function, bool second_output) {
  const auto [expression, outputs] = function_text(function);
  if (outputs == 1) return fmt::format("out0 = {};", expression);
  return fmt::format("const float2 both = {}; out0 = both.x;{}", expression,
                     second_output ? " out1 = both.y;" : "");
}

}  // namespace

std::string_view chain_text(ElementwiseFunction function, bool second_output) {
  constexpr size_t kFunctions = kElementwiseSoftcapBackward + 1;
  static const auto texts = [] {
    std::array<std::array<std::string, 2>, kFunctions> table;
    for (size_t i = 0; i < kFunctions; ++i) {
      for (const bool second : {false, true}) {
        table[i][second ? 1 : 0] = make_chain_text(static_cast<ElementwiseFunction>(i), second);
      }
    }
    return table;
  }();
  return texts[function][second_output ? 1 : 0];
}

}  // namespace norite::ops
