// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::msl {

/// What the text that clang gets begins with, whatever the kernel: Metal's standard library.
[[nodiscard]] const std::string& clang_library();
/// What of lowered text follows the library; nothing where it does not begin with that.
[[nodiscard]] std::optional<std::string_view> after_clang_library(std::string_view lowered_text);

/// C++ text that clang turns into an object with one kernel, found as `norite_msl_entry` (see
/// shim/abi.h). Errors: unsupported for a kernel that takes textures and the like, invalid_argument
/// for a constant's value that does not fit.
[[nodiscard]] Result<std::string> lower_for_clang(const Module& module, const Kernel& kernel,
                                                  const ConstantValues& constants);

/// The same for several kernels, none with a parameter that is unsupported, in one unit that is
/// only to be looked at.
[[nodiscard]] std::string lower_all_for_clang(const Module& module, std::span<const Kernel> kernels,
                                              const ConstantValues& constants);

}  // namespace norite::msl
