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
  /// Memory of someone else's, who keeps it at least as long as `owner` lives. The context is
  /// current. Errors: invalid_argument for what begins at no multiple of kAlignment or is not this
  /// GPU's.
  [[nodiscard]] static Result<std::shared_ptr<core::Storage>> wrap(
      std::shared_ptr<core::Backend> backend, std::shared_ptr<Stream> stream, int64_t bytes,
      CUdeviceptr address, std::shared_ptr<void> owner);
  static constexpr CUdeviceptr kAlignment = 16;  // what kernels read and write at once
  ~DeviceMemory() override;

  [[nodiscard]] CUdeviceptr address() const noexcept { return address_; }
  [[nodiscard]] bool foreign() const noexcept override { return source_ == Source::caller; }

 private:
  enum class Source : uint8_t { pool, driver, caller };

  DeviceMemory(std::shared_ptr<core::Backend> backend, std::shared_ptr<Stream> stream,
               int64_t bytes, CUdeviceptr address, Source source, std::shared_ptr<void> owner = {})
      : Storage(std::move(backend), bytes, nullptr),
        stream_(std::move(stream)),
        address_(address),
        source_(source),
        owner_(std::move(owner)) {}

  std::shared_ptr<Stream> stream_;
  CUdeviceptr address_;
  Source source_;
  std::shared_ptr<void> owner_;
};

/// Where memory of this backend's begins, and where a view's first element lies.
[[nodiscard]] CUdeviceptr address_of(const core::Storage& storage);
[[nodiscard]] CUdeviceptr address_of(const View& view);

}  // namespace norite::cuda
