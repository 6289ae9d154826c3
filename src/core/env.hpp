// SPDX-License-Identifier: MIT
// Every environment variable that Norite reads, in one place.
#pragma once

#include <optional>
#include <string>

#include "norite/error.hpp"

namespace norite::core::env {

/// NORITE_DEVICE: the device that Device::open() takes when none is named.
std::optional<std::string> device();
/// NORITE_NUM_THREADS: threads of the CPU device, 1 to 1024.
Result<std::optional<int>> num_threads();
/// NORITE_CPU_TARGET: the SIMD level of the CPU device.
std::optional<std::string> cpu_target();

}  // namespace norite::core::env
