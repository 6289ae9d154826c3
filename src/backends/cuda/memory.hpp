// SPDX-License-Identifier: MIT
#pragma once

#include "backends/cuda/stream.hpp"
#include "core/storage.hpp"
#include "norite/view.hpp"

namespace norite::cuda {

/// Memory of the GPU, which the host cannot address.
class DeviceMemory final : public core::Storage {
 public:
  /// Zeroed memory. `pooled` takes it from the driver's pool: that waits for nothing, where plain
  /// allocation waits for the whole GPU.
  [[nodiscard]] static Result<std::shared_ptr<core::Storage>> allocate(
      std::shared_ptr<core::Backend> backend, std::shared_ptr<Stream> stream, int64_t bytes,
      bool pooled);
  ~DeviceMemory() override;

  [[nodiscard]] CUdeviceptr address() const noexcept { return address_; }

 private:
  DeviceMemory(std::shared_ptr<core::Backend> backend, std::shared_ptr<Stream> stream,
               int64_t bytes, CUdeviceptr address, bool pooled)
      : Storage(std::move(backend), bytes, nullptr),
        stream_(std::move(stream)),
        address_(address),
        pooled_(pooled) {}

  std::shared_ptr<Stream> stream_;
  CUdeviceptr address_;
  bool pooled_;
};

/// Where memory of this backend's begins, and where a view's first element lies.
[[nodiscard]] CUdeviceptr address_of(const core::Storage& storage);
[[nodiscard]] CUdeviceptr address_of(const View& view);

}  // namespace norite::cuda
