// SPDX-License-Identifier: MIT
// NVIDIA GPUs, through a driver and an NVRTC that are found while the program runs. Built-in
// kernels are those of kernels/.
#pragma once

#include "backends/cuda/driver.hpp"
#include "backends/cuda/nvrtc.hpp"
#include "backends/cuda/stream.hpp"
#include "core/backend.hpp"

namespace norite::cuda {

/// None where there is no driver. A GPU that cannot be used here is listed as one that does not
/// compute, with the reason.
std::vector<DeviceInfo> list();
/// Errors: unavailable, with what is missing and where it was looked for.
Result<std::shared_ptr<core::Backend>> open(int index, const DeviceOptions& options);

/// The same with a driver and an NVRTC that are given.
std::vector<DeviceInfo> list(const Driver& driver,
                             const Result<std::shared_ptr<const Nvrtc>>& nvrtc);
Result<std::shared_ptr<core::Backend>> open(std::shared_ptr<const Driver> driver,
                                            std::shared_ptr<const Nvrtc> nvrtc, int index,
                                            const DeviceOptions& options = {});

}  // namespace norite::cuda
