// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "backends/cuda/memory.hpp"
#include "core/device_state.hpp"
#include "norite/cuda.hpp"

namespace norite::cuda {

Result<Buffer> wrap(const Device& device, void* address, DType dtype, const Shape& shape,
                    std::shared_ptr<void> owner) {
  if (device.info().backend != "cuda") {
    return fail(Code::invalid_argument,
                fmt::format("wrap: device {}, expected a CUDA device", device.info().id));
  }
  const auto& backend = device.state()->shared_backend();
  NORITE_TRY_ASSIGN(const int64_t bytes, core::checked_buffer_bytes(*backend, dtype, shape));
  NORITE_TRY_ASSIGN(auto storage,
                    backend->wrap(reinterpret_cast<uintptr_t>(address), bytes, std::move(owner)));
  return Buffer(std::move(storage), dtype, shape);
}

Result<void*> address(const View& view) {
  if (!view || view.buffer().storage()->backend().info().backend != "cuda") {
    return fail(Code::invalid_argument, "address: expected a view of memory on a CUDA device");
  }
  return reinterpret_cast<void*>(address_of(view));
}

}  // namespace norite::cuda
