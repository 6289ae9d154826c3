// SPDX-License-Identifier: MIT
#include "ops/dispatch.hpp"

#include "norite/device.hpp"

namespace norite::ops {

Result<void> dispatch(Encoder& encoder, std::string_view operation, std::string_view kernel,
                      std::span<const Argument> arguments) {
  NORITE_TRY_ASSIGN(const Pipeline pipeline,
                    encoder.device().registry().get_pipeline({.name = std::string(kernel)}));
  return encoder.dispatch(pipeline, arguments, {}, operation);
}

}  // namespace norite::ops
