// SPDX-License-Identifier: MIT
#pragma once

#include "backends/metal/objc.hpp"
#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::metal {

/// The values as an MTLFunctionConstantValues. Errors: invalid_argument for a value that its type
/// cannot hold, unsupported for a type that is no scalar.
[[nodiscard]] Result<Object> function_constants(const msl::Module& module,
                                                const msl::ConstantValues& values);

}  // namespace norite::metal
