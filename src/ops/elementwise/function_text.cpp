// SPDX-License-Identifier: MIT
#include "ops/elementwise/function_text.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string>

namespace norite::ops {

FunctionText function_text(ElementwiseFunction function) noexcept {
  switch (function) {
    case kElementwiseCopy:
      return {"a", 1};
    case kElementwiseScale:
      return {"a * s", 1};
    case kElementwiseAdd:
      return {"a + b", 2};
    case kElementwiseMul:
      return {"a * b", 2};
    case kElementwiseMulBackward:
      return {"mul_backward(a, b, c)", 3, 2};
    case kElementwiseSilu:
      return {"activate<Silu>(a)", 1};
    case kElementwiseSiluBackward:
      return {"activate_backward<Silu>(a, b)", 2};
    case kElementwiseSiluMul:
      return {"activate_mul<Silu>(a, b)", 2};
    case kElementwiseSiluMulBackward:
      return {"activate_mul_backward<Silu>(a, b, c)", 3, 2};
    case kElementwiseGelu:
      return {"activate<Gelu>(a)", 1};
    case kElementwiseGeluBackward:
      return {"activate_backward<Gelu>(a, b)", 2};
    case kElementwiseGeluMul:
      return {"activate_mul<Gelu>(a, b)", 2};
    case kElementwiseGeluMulBackward:
      return {"activate_mul_backward<Gelu>(a, b, c)", 3, 2};
    case kElementwiseGeluTanh:
      return {"activate<GeluTanh>(a)", 1};
    case kElementwiseGeluTanhBackward:
      return {"activate_backward<GeluTanh>(a, b)", 2};
    case kElementwiseGeluTanhMul:
      return {"activate_mul<GeluTanh>(a, b)", 2};
    case kElementwiseGeluTanhMulBackward:
      return {"activate_mul_backward<GeluTanh>(a, b, c)", 3, 2};
    case kElementwiseSoftcap:
      return {"softcap(a, s)", 1};
    case kElementwiseSoftcapBackward:
      return {"softcap_backward(a, b, s)", 2};
  }
  return {"a", 1};
}

namespace {

/// An input as the chain's statements name it: in0, in1, in2, r0, r1, ...
std::string operand_name(uint32_t source) {
  return source < kElementwiseOut0 ? fmt::format("in{}", source)
                                   : fmt::format("r{}", source - kElementwiseOut0);
}

/// The step's inputs and scalar under the names that function_text uses, in a scope of their own.
std::string step_text(const ElementwiseStep& step, size_t index, std::string_view assignments) {
  constexpr std::string_view kNames = "abc";
  const FunctionText function = function_text(static_cast<ElementwiseFunction>(step.function));
  std::string text = "{ ";
  for (int k = 0; k < function.inputs; ++k) {
    text += fmt::format("const float {} = {}; ", kNames[static_cast<size_t>(k)],
                        operand_name(step_input(step, k)));
  }
  return fmt::format("{}const float s = params.chain[{}].scalar; {} }} ", text, index, assignments);
}

std::string make_chain_text(std::span<const ElementwiseStep> steps, bool second_output) {
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto function = function_text(static_cast<ElementwiseFunction>(steps[i].function));
    const bool last = i + 1 == steps.size();
    if (!last) text += fmt::format("float r{}; ", i);
    const std::string result = last ? "out0" : fmt::format("r{}", i);
    text += step_text(steps[i], i,
                      function.outputs == 1 ? fmt::format("{} = {};", result, function.expression)
                                            : fmt::format("const float2 both = {}; {} = both.x;{}",
                                                          function.expression, result,
                                                          second_output ? " out1 = both.y;" : ""));
  }
  return text;
}

/// Of one step on the kernel's inputs in their order.
const char* single_text(uint32_t function, bool second_output) {
  constexpr size_t kFunctions = kElementwiseSoftcapBackward + 1;
  static const auto texts = [] {
    std::array<std::array<std::string, 2>, kFunctions> table;
    for (uint32_t i = 0; i < kFunctions; ++i) {
      for (const bool second : {false, true}) {
        const ElementwiseStep step = make_step(static_cast<ElementwiseFunction>(i), 0);
        table[i][second ? 1 : 0] = make_chain_text({&step, 1}, second);
      }
    }
    return table;
  }();
  return texts[function][second_output ? 1 : 0].c_str();
}

}  // namespace

ElementwiseStep make_step(ElementwiseFunction function, float scalar,
                          std::array<uint32_t, 3> inputs) {
  return {.function = function,
          .inputs = inputs[0] | inputs[1] << 4 | inputs[2] << 8,
          .scalar = scalar};
}

uint32_t step_input(const ElementwiseStep& step, int index) {
  return step.inputs >> 4 * index & 15;
}

const char* chain_text(std::span<const ElementwiseStep> steps, bool second_output) {
  if (steps.size() == 1) return single_text(steps[0].function, second_output);
  static std::mutex mutex;
  static std::set<std::string> texts;  // whose strings stay where they are
  const std::scoped_lock lock(mutex);
  return texts.insert(make_chain_text(steps, second_output)).first->c_str();
}

}  // namespace norite::ops
