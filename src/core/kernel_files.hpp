// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "core/embedded_file.hpp"

namespace norite::core {

/// Every file below kernels/; paths as in "norm/rms_norm.metal".
[[nodiscard]] std::span<const EmbeddedFile> kernel_files() noexcept;

}  // namespace norite::core
