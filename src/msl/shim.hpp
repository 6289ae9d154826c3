// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "core/embedded_file.hpp"
#include "msl/target.hpp"

namespace norite::msl {

/// The headers of src/msl/shim; paths as in "shim/vec.h".
[[nodiscard]] std::span<const core::EmbeddedFile> shim_files() noexcept;

/// Metal's standard library for a compiler, as one text without includes.
[[nodiscard]] const std::string& shim_text(Target target = Target::clang);

/// The same for clang as a judge of address spaces, in C++ for OpenCL.
[[nodiscard]] const std::string& lint_shim_text();

}  // namespace norite::msl
