// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "norite/encoder.hpp"

namespace norite::ops {

/// Records the built-in kernel `kernel` under the operation's name.
Result<void> dispatch(Encoder& encoder, std::string_view operation, std::string_view kernel,
                      std::span<const Argument> arguments);

}  // namespace norite::ops
