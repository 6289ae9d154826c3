// SPDX-License-Identifier: MIT
// For programs that have memory and streams on an NVIDIA GPU already. DeviceOptions::cuda_stream
// puts a device's work on a stream of theirs.
#pragma once

#include <norite/device.hpp>

#include <memory>

namespace norite::cuda {

/// Memory that is on the device already, as a Buffer, without a copy. It stays the caller's: it
/// must live as long as the buffer and its copies do, which `owner` can see to. Its first byte lies
/// at a multiple of 16. Errors: invalid_argument (not a CUDA device, null or unaligned, not memory
/// of that device).
[[nodiscard]] NORITE_API Result<Buffer> wrap(const Device& device, void* address, DType dtype,
                                             const Shape& shape, std::shared_ptr<void> owner = {});

/// Where a view's first element is in the GPU's memory, for other libraries. Errors:
/// invalid_argument for memory that is not on a CUDA device.
[[nodiscard]] NORITE_API Result<void*> address(const View& view);

}  // namespace norite::cuda
