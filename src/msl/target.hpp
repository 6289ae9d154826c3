// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace norite::msl {

/// Who compiles lowered text: clang for the CPU, NVRTC for NVIDIA GPUs.
enum class Target : uint8_t { clang, nvrtc };

}  // namespace norite::msl
