// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/nvrtc.hpp"
#include "norite/device.hpp"

namespace norite::cuda {

/// One GPU as the driver describes it.
struct Gpu {
  CUdevice device = 0;
  int capability = 0;  // 90 for compute capability 9.0
  bool has_pools = false;
  DeviceInfo info;
};

/// "cuda", "cuda:1", …
[[nodiscard]] std::string gpu_id(int index);
/// Errors: unavailable for a GPU that is not there.
[[nodiscard]] Result<Gpu> describe_gpu(const Driver& driver, int index);
/// How many GPUs the driver sees.
[[nodiscard]] Result<int> count_gpus(const Driver& driver);
/// Errors: unavailable for a GPU that is too old.
[[nodiscard]] Result<void> check_capability(const Gpu& gpu);

}  // namespace norite::cuda
