// SPDX-License-Identifier: MIT
// The CPU as a device: kernels in Highway, threads from oneTBB.
#pragma once

#include "core/backend.hpp"

namespace norite::cpu {

std::vector<DeviceInfo> list();
Result<std::shared_ptr<core::Backend>> open(int index, const DeviceOptions& options);

}  // namespace norite::cpu
