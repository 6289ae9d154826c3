// SPDX-License-Identifier: MIT
#pragma once

#include <norite/buffer.hpp>

#include <memory>

namespace norite {

class Device;

namespace core {
class Backend;
}

enum class Fill : uint8_t {
  zero,           ///< every byte is zero
  uninitialised,  ///< whatever was there: for memory that is written before it is read
};

struct PoolStatistics {
  int64_t bytes_in_use = 0;       ///< handed out and not yet returned, rounded to size classes
  int64_t bytes_cached = 0;       ///< returned and kept for the next request
  int64_t peak_bytes_in_use = 0;  ///< the largest bytes_in_use so far
  int64_t hits = 0;               ///< requests served from the cache
  int64_t misses = 0;             ///< requests that went to the device
};

/// Reuses device memory. A buffer goes back to its pool when its last copy is dropped, so there is
/// no release call to forget. Sizes round up to 256 bytes, and beyond that to one of four classes
/// for each power of two: at most a fifth of those is unused. May be shared between threads.
class NORITE_API Pool {
 public:
  explicit Pool(const Device& device);
  explicit Pool(std::shared_ptr<core::Backend> backend);

  [[nodiscard]] Result<Buffer> acquire(DType dtype, const Shape& shape, Fill fill = Fill::zero);
  /// Gives every cached allocation back to the device; returns how many bytes that were.
  int64_t trim();
  [[nodiscard]] PoolStatistics statistics() const;
  /// The size class that a request of so many bytes gets.
  [[nodiscard]] static int64_t size_class(int64_t bytes) noexcept;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace norite
