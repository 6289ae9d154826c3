// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "backends/metal/objc.hpp"
#include "norite/device.hpp"

namespace norite::metal {

/// One GPU as Metal describes it.
struct Gpu {
  Object device;
  DeviceInfo info;
};

/// Every GPU that Metal sees. Wants an AutoreleasePool.
[[nodiscard]] std::vector<Gpu> find_gpus();

/// Errors: unavailable where macOS is too old, or the GPU is not one of Apple's.
[[nodiscard]] Result<void> check_gpu(const Gpu& gpu);

}  // namespace norite::metal
