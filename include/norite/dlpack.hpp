// SPDX-License-Identifier: MIT
// Tensors of other libraries as views, and views as tensors of theirs, without a copy: DLPack 1.x,
// on the CPU and on NVIDIA GPUs.
#pragma once

#include <norite/device.hpp>

#include <cstdint>

// Of <dlpack/dlpack.h>, which may be included beside this header and is not needed by it.
struct DLManagedTensorVersioned;

namespace norite {

/// Whether a tensor whose producer forbids writing may become a view. Dispatches and Buffer::write
/// then refuse to write to it, and to_dlpack hands the prohibition on.
enum class ReadOnlyTensors : uint8_t { refuse, accept };

/// A view of the tensor's own memory, for operations on `device`: host memory (kDLCPU, kDLCUDAHost)
/// on the CPU; memory of that GPU (kDLCUDA, kDLCUDAManaged) on CUDA. Strides stay as they are.
///
/// The view takes the tensor over: its deleter is called once, when the last copy of the view and
/// of its buffer is gone and no submitted work uses them, on the thread that dropped it. After an
/// error the tensor is still the caller's. What the producer has under way on the memory must have
/// ended, or be on the stream that the device was opened with.
///
/// Errors: invalid_argument (another device's memory, a shape or strides that no view has, elements
/// that lie at no multiple of their size, read-only), unsupported (another major version, a dtype
/// that Norite lacks).
[[nodiscard]] NORITE_API Result<View> from_dlpack(
    const Device& device, DLManagedTensorVersioned* tensor,
    ReadOnlyTensors read_only = ReadOnlyTensors::refuse);

/// The view as a tensor that keeps its memory alive until the consumer calls the deleter, which may
/// be after the device was dropped, and from any thread. What was submitted on the memory must have
/// ended before the consumer reads it, or be on the consumer's stream.
///
/// Errors: invalid_argument (an empty view), unsupported (memory of a device that has no place in
/// DLPack).
[[nodiscard]] NORITE_API Result<DLManagedTensorVersioned*> to_dlpack(const View& view);

}  // namespace norite
