// SPDX-License-Identifier: MIT
#include "ops/dispatch.hpp"

namespace norite::ops {

Result<void> dispatch_text(Encoder& encoder, std::string_view operation, const Plan& plan,
                           std::span<const Argument> arguments) {
  KernelRegistry& registry = encoder.device().registry();
  NORITE_TRY_ASSIGN(const Pipeline pipeline,
                    registry.get_pipeline({.name = plan.kernel, .specialisation = plan.macros}));
  return encoder.dispatch(pipeline, arguments, plan.grid, operation);
}

}  // namespace norite::ops
