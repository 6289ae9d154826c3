// SPDX-License-Identifier: MIT
#include "norite/buffer.hpp"

#include <fmt/format.h>

#include "core/backend.hpp"
#include "core/storage.hpp"

namespace norite {

namespace {

Result<void> check_range(const char* what, const Buffer& buffer, int64_t offset, size_t length) {
  if (!buffer) {
    return fail(Code::invalid_argument,
                fmt::format("{}: the buffer is empty, expected one with memory", what));
  }
  const int64_t size = buffer.size_bytes();
  if (offset < 0 || offset > size || length > static_cast<uint64_t>(size - offset)) {
    return fail(Code::invalid_argument,
                fmt::format("{}: {} bytes at offset {} reach outside, expected to stay within the "
                            "{} bytes of the buffer",
                            what, length, offset, size));
  }
  return {};
}

struct Owned {
  std::shared_ptr<core::Storage> storage;
  core::Layout layout;
};

}  // namespace

Buffer::Buffer(std::shared_ptr<core::Storage> storage, DType dtype, const Shape& shape) {
  if (storage == nullptr) return;
  core::Storage* const memory = storage.get();
  const auto owned = std::make_shared<const Owned>(
      Owned{std::move(storage), core::Layout(dtype, shape, contiguous_strides(shape), 0)});
  storage_ = std::shared_ptr<core::Storage>(owned, memory);
  layout_ = &owned->layout;
}

int64_t Buffer::capacity_bytes() const noexcept { return storage_ ? storage_->size_bytes() : 0; }

std::byte* Buffer::host_data() const noexcept { return storage_ ? storage_->host_data() : nullptr; }

Result<void> Buffer::write(std::span<const std::byte> source, int64_t offset_bytes) {
  NORITE_TRY(check_range("buffer write", *this, offset_bytes, source.size()));
  if (storage_->read_only()) {
    return fail(Code::invalid_argument,
                "buffer write: the memory is read-only, expected memory to write to");
  }
  return storage_->backend().write(*storage_, offset_bytes, source);
}

Result<void> Buffer::read(std::span<std::byte> target, int64_t offset_bytes) const {
  NORITE_TRY(check_range("buffer read", *this, offset_bytes, target.size()));
  return storage_->backend().read(*storage_, offset_bytes, target);
}

}  // namespace norite
