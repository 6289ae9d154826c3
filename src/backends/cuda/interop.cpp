// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/memory.hpp"
#include "core/device_state.hpp"
#include "norite/cuda.hpp"

namespace norite::cuda {

namespace {

constexpr CUdeviceptr kAlignment = 16;  // what kernels read and write at once

Result<void> check_memory(const core::Backend& backend, CUdeviceptr memory) {
  if (memory == 0 || memory % kAlignment != 0) {
    return fail(Code::invalid_argument,
                fmt::format("wrap: address {:#x}, expected a multiple of {}", memory, kAlignment));
  }
  const Stream& stream = *stream_of(backend);
  const Current current(stream.context());
  int device = -1;
  const CUresult error =
      stream.driver().cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory);
  if (error == CUDA_SUCCESS && device == stream.context().device()) return {};
  return fail(Code::invalid_argument,
              fmt::format("wrap: address {:#x} is no memory of {}", memory, backend.info().id));
}

}  // namespace

Result<Buffer> wrap(const Device& device, void* address, DType dtype, const Shape& shape,
                    std::shared_ptr<void> owner) {
  if (device.info().backend != "cuda") {
    return fail(Code::invalid_argument,
                fmt::format("wrap: device {}, expected a CUDA device", device.info().id));
  }
  const auto& backend = device.state()->shared_backend();
  NORITE_TRY_ASSIGN(const int64_t bytes, core::checked_buffer_bytes(*backend, dtype, shape));
  const auto memory = reinterpret_cast<CUdeviceptr>(address);
  NORITE_TRY(check_memory(*backend, memory));
  return Buffer(DeviceMemory::wrap(backend, stream_of(*backend), bytes, memory, std::move(owner)),
                dtype, shape);
}

Result<void*> address(const View& view) {
  if (!view || view.buffer().storage()->backend().info().backend != "cuda") {
    return fail(Code::invalid_argument, "address: expected a view of memory on a CUDA device");
  }
  return reinterpret_cast<void*>(address_of(view));
}

}  // namespace norite::cuda
