// SPDX-License-Identifier: MIT
// A device that accepts every dispatch and computes nothing: registry, encoder and pool can be
// tested, and host overhead measured, without any hardware.
#pragma once

#include "core/backend.hpp"

namespace norite::null {

std::vector<DeviceInfo> list();
Result<std::shared_ptr<core::Backend>> open(int index, const DeviceOptions& options);

}  // namespace norite::null
