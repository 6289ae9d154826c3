// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>
#include <norite/layout.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace norite {

namespace core {
class Storage;
}

/// Device memory with a dtype and a shape. Copies share the memory; the last one frees it.
/// A default-made Buffer holds nothing and is false.
class NORITE_API Buffer {
 public:
  Buffer() = default;
  /// Takes the storage over: nobody else refers to it.
  Buffer(std::shared_ptr<core::Storage> storage, DType dtype, const Shape& shape);

  explicit operator bool() const noexcept { return storage_ != nullptr; }
  [[nodiscard]] DType dtype() const noexcept { return layout().dtype; }
  [[nodiscard]] const Shape& shape() const noexcept { return layout().shape; }
  [[nodiscard]] int64_t count() const noexcept { return shape().count().value_or(0); }
  /// Bytes that dtype and shape describe.
  [[nodiscard]] int64_t size_bytes() const noexcept { return count() * size_of(dtype()); }
  /// Bytes of the allocation behind it: at least size_bytes(), more when a pool rounded up.
  [[nodiscard]] int64_t capacity_bytes() const noexcept;

  /// Copies from host memory to `offset_bytes` on, after everything submitted so far.
  [[nodiscard]] Result<void> write(std::span<const std::byte> source, int64_t offset_bytes = 0);
  /// Copies to host memory from `offset_bytes` on, after everything submitted so far.
  [[nodiscard]] Result<void> read(std::span<std::byte> target, int64_t offset_bytes = 0) const;
  /// The memory itself where the host can address it (CPU, unified memory), else nullptr.
  /// Touch it only while nothing submitted uses it.
  [[nodiscard]] std::byte* host_data() const noexcept;

  [[nodiscard]] const std::shared_ptr<core::Storage>& storage() const noexcept { return storage_; }
  /// Of the whole buffer.
  [[nodiscard]] const core::Layout& layout() const noexcept {
    return storage_ ? *layout_ : core::kNoLayout;
  }

 private:
  std::shared_ptr<core::Storage> storage_;  // one count for it and for the layout
  const core::Layout* layout_ = nullptr;
};

}  // namespace norite
