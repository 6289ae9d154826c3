// SPDX-License-Identifier: MIT
#include "backends/metal/math.hpp"

#include "backends/metal/messages.hpp"

namespace norite::metal {

void set_precise_math(Id compile_options) {
  // macOS 15 has words for what the older switch says in one.
  if (msg::responds_to(compile_options, msg::set_math_mode.selector())) {
    msg::set_math_mode(compile_options, MTLMathModeSafe);
    msg::set_math_functions(compile_options, MTLMathFloatingPointFunctionsPrecise);
  } else {
    msg::set_fast_math(compile_options, false);
  }
}

}  // namespace norite::metal
