// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "backends/metal/objc.hpp"
#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::metal {

/// A pipeline state, and what Metal found out about the kernel's arguments.
struct Compiled {
  Object pipeline;
  Object reflection;
};

/// Has Metal compile one kernel of the module. Errors: compile_failed with the log. Wants an
/// AutoreleasePool.
[[nodiscard]] Result<Compiled> compile(Id device, const msl::Module& module,
                                       const msl::Kernel& kernel,
                                       const msl::ConstantValues& constants);

}  // namespace norite::metal
