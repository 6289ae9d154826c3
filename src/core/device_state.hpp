// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>

#include "core/backend.hpp"
#include "norite/kernel_registry.hpp"
#include "norite/pool.hpp"

namespace norite::core {

/// What the copies of a Device share.
class DeviceState {
 public:
  explicit DeviceState(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), registry_(backend_), pool_(backend_) {}

  [[nodiscard]] static Device handle(std::shared_ptr<DeviceState> state) {
    return Device(std::move(state));
  }

  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] const std::shared_ptr<Backend>& shared_backend() const noexcept { return backend_; }
  [[nodiscard]] KernelRegistry& registry() noexcept { return registry_; }
  [[nodiscard]] Pool& pool() noexcept { return pool_; }
  [[nodiscard]] Result<void> check_open(std::string_view operation) const;
  void close();

 private:
  std::shared_ptr<Backend> backend_;
  KernelRegistry registry_;
  Pool pool_;
  std::atomic<bool> closed_ = false;
};

/// New zeroed memory for that dtype and shape, or why not.
Result<Buffer> allocate_buffer(Backend& backend, DType dtype, const Shape& shape);
/// Bytes of a new buffer; refuses empty, overflowing and oversized ones.
Result<int64_t> checked_buffer_bytes(const Backend& backend, DType dtype, const Shape& shape);

}  // namespace norite::core
