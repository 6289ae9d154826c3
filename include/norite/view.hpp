// SPDX-License-Identifier: MIT
#pragma once

#include <norite/buffer.hpp>

namespace norite {

/// A window on a Buffer: dtype, shape, strides (in elements) and byte offset. What operations take.
///
/// Views compose: a slice of a slice counts from the slice. Every view is checked against its
/// buffer when it is made, so a View that exists never reaches outside. A default-made View is
/// false and means "not given" in an operation's optional fields.
class NORITE_API View {
 public:
  View() = default;
  View(const Buffer& buffer) noexcept  // NOLINT: the whole buffer is a view of itself
      : buffer_(buffer), layout_(std::shared_ptr<void>(), &buffer.layout()) {}

  /// Any strides (>= 0; 0 repeats an element) and offset, checked against the buffer.
  [[nodiscard]] static Result<View> make(const Buffer& buffer, DType dtype, const Shape& shape,
                                         const Strides& strides, int64_t byte_offset);

  explicit operator bool() const noexcept { return static_cast<bool>(buffer_); }
  [[nodiscard]] const Buffer& buffer() const noexcept { return buffer_; }
  [[nodiscard]] DType dtype() const noexcept { return layout().dtype; }
  [[nodiscard]] const Shape& shape() const noexcept { return layout().shape; }
  [[nodiscard]] const Strides& strides() const noexcept { return layout().strides; }
  [[nodiscard]] int64_t byte_offset() const noexcept { return layout().byte_offset; }
  [[nodiscard]] int64_t count() const noexcept { return shape().count().value_or(0); }
  [[nodiscard]] int64_t size_bytes() const noexcept { return count() * size_of(dtype()); }
  [[nodiscard]] bool contiguous() const noexcept;

  /// Elements [begin, end) of one axis; a negative axis counts from the last.
  [[nodiscard]] Result<View> slice(int axis, int64_t begin, int64_t end) const;
  /// Another shape of the same elements, without copying; an error if strides forbid that.
  [[nodiscard]] Result<View> reshape(const Shape& shape) const;
  /// Axes in another order: permute({1, 0, 2}) of [T, H, D] is [H, T, D].
  [[nodiscard]] Result<View> permute(std::initializer_list<int> order) const;
  /// The same bytes under another dtype of the same size.
  [[nodiscard]] Result<View> reinterpret(DType dtype) const;

  /// Host copies of a contiguous view; see Buffer::write and Buffer::read.
  [[nodiscard]] Result<void> write(std::span<const std::byte> source);
  [[nodiscard]] Result<void> read(std::span<std::byte> target) const;
  /// First element where the host can address it, else nullptr.
  [[nodiscard]] std::byte* host_data() const noexcept;

  [[nodiscard]] const core::Layout& layout() const noexcept {
    return buffer_ ? *layout_ : core::kNoLayout;
  }

 private:
  Buffer buffer_;
  std::shared_ptr<const core::Layout> layout_;  // owns nothing where it is the buffer's
};

}  // namespace norite
