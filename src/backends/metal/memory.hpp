// SPDX-License-Identifier: MIT
#pragma once

#include "backends/metal/residency.hpp"
#include "core/storage.hpp"
#include "norite/error.hpp"

namespace norite::metal {

/// Memory that host and GPU share: the host's view of it is the memory itself.
class SharedMemory final : public core::Storage {
 public:
  /// Zeroed memory. Errors: out_of_memory.
  [[nodiscard]] static Result<std::shared_ptr<core::Storage>> allocate(
      std::shared_ptr<core::Backend> backend, Id device, std::shared_ptr<Residency> residency,
      int64_t bytes);
  ~SharedMemory() override;

  [[nodiscard]] Id buffer() const noexcept { return buffer_; }

 private:
  SharedMemory(std::shared_ptr<core::Backend> backend, std::shared_ptr<Residency> residency,
               Object buffer, int64_t bytes, std::byte* host_data)
      : Storage(std::move(backend), bytes, host_data),
        residency_(std::move(residency)),
        buffer_(std::move(buffer)) {}

  std::shared_ptr<Residency> residency_;
  Object buffer_;
};

/// A new buffer in shared storage, whatever it holds. Errors: out_of_memory.
[[nodiscard]] Result<Object> new_shared_buffer(Id device, int64_t bytes);

}  // namespace norite::metal
