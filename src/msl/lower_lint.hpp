// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::msl {

/// The kernels as C++ for OpenCL, for clang to judge how address spaces are used. The text is not
/// free of other errors: what Metal's library does is only approximated there.
[[nodiscard]] std::string lower_for_lint(const Module& module, std::span<const Kernel> kernels,
                                         const ConstantValues& constants);

}  // namespace norite::msl
