// SPDX-License-Identifier: MIT
// GPUs of Apple's, through a Metal that is found while the program runs. Built-in kernels are those
// of kernels/.
#pragma once

#include "core/backend.hpp"

namespace norite::metal {

/// None where there is no Metal. A GPU that cannot be used is listed as one that does not compute,
/// with the reason.
std::vector<DeviceInfo> list();
/// Errors: unavailable, with what is missing.
Result<std::shared_ptr<core::Backend>> open(int index, const DeviceOptions& options);

}  // namespace norite::metal
