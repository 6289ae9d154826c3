// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "core/backend.hpp"
#include "norite/kernel_registry.hpp"
#include "norite/pool.hpp"

namespace norite::core {

/// What the copies of a Device share.
class DeviceState {
 public:
  explicit DeviceState(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), registry_(backend_), pool_(backend_) {}
  /// Waits for what was submitted: what the caller lent the device is the caller's again.
  ~DeviceState() { backend_->wait_idle(); }

  [[nodiscard]] static Device handle(std::shared_ptr<DeviceState> state) {
    return Device(std::move(state));
  }

  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] const std::shared_ptr<Backend>& shared_backend() const noexcept { return backend_; }
  [[nodiscard]] KernelRegistry& registry() noexcept { return registry_; }
  [[nodiscard]] Pool& pool() noexcept { return pool_; }
  /// At least so many u32 that groups of a kernel tell each other sums through: zero at first, and
  /// ever after as a kernel leaves them for the next (kernels/cuda/shared_sums.h). All have the
  /// same ones, and so run one after the other.
  [[nodiscard]] Result<Buffer> shared_sums(int64_t words);
  [[nodiscard]] Result<void> check_open(std::string_view operation) const {
    return backend_->check_open(operation);
  }
  void close();

 private:
  std::shared_ptr<Backend> backend_;
  KernelRegistry registry_;
  Pool pool_;
  std::mutex sums_mutex_;
  std::optional<Buffer> sums_;
};

/// New zeroed memory for that dtype and shape, or why not.
Result<Buffer> allocate_buffer(Backend& backend, DType dtype, const Shape& shape);
/// Bytes of a new buffer; refuses empty, overflowing and oversized ones, and those of a closed
/// device.
Result<int64_t> checked_buffer_bytes(const Backend& backend, DType dtype, const Shape& shape);

}  // namespace norite::core
