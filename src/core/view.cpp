// SPDX-License-Identifier: MIT
#include "norite/view.hpp"

#include <fmt/ranges.h>

namespace norite {

namespace {

tl::unexpected<Error> refuse(std::string_view what, std::string_view seen,
                             std::string_view expected) {
  return fail(Code::invalid_argument, fmt::format("{}: {}, expected {}", what, seen, expected));
}

// Bytes from the first element's start to the last one's end; empty on overflow. Extents are >= 1.
std::optional<int64_t> extent_bytes(DType dtype, const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, size_of(dtype), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

Result<void> check_shape(DType dtype, const Shape& shape, const Strides& strides) {
  // Zero strides let a few bytes stand for many elements, whose size must still be a number.
  const auto count = shape.count();
  int64_t bytes = 0;
  if (size_of(dtype) == 0 || !count || !strides.valid() ||
      __builtin_mul_overflow(*count, size_of(dtype), &bytes)) {
    return refuse("view",
                  fmt::format("shape {} with strides {} of {} is not representable",
                              to_string(shape), to_string(strides), name(dtype)),
                  fmt::format("up to {} axes, extents >= 1 and fewer than 2^63 bytes of a dtype",
                              Shape::kMaxRank));
  }
  if (shape.rank() != strides.rank()) {
    return refuse("view", fmt::format("strides {} of {} axes", to_string(strides), strides.rank()),
                  fmt::format("{} as in shape {}", shape.rank(), to_string(shape)));
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 1) {
      return refuse("view", fmt::format("shape {} has an empty axis {}", to_string(shape), axis),
                    "extents >= 1");
    }
    if (strides[axis] < 0) {
      return refuse("view",
                    fmt::format("strides {} are negative at axis {}", to_string(strides), axis),
                    ">= 0");
    }
  }
  return {};
}

Result<int> check_axis(std::string_view what, const Shape& shape, int axis) {
  const int resolved = axis < 0 ? axis + shape.rank() : axis;
  if (resolved < 0 || resolved >= shape.rank()) {
    return refuse(what, fmt::format("axis {} of a view of shape {}", axis, to_string(shape)),
                  fmt::format("{} <= axis < {}", -shape.rank(), shape.rank()));
  }
  return resolved;
}

// Strides of `target` over the same elements, or nothing if they are not evenly spaced. Both shapes
// are cut into the finest groups of equal element count; within a group the source axes must
// follow each other without a gap.
std::optional<Strides> reshaped_strides(const Shape& from, const Strides& strides,
                                        const Shape& target) {
  Shape axes;
  Strides steps;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] == 1) continue;  // its stride is never used
    axes.push_back(from[axis]);
    steps.push_back(strides[axis]);
  }
  Strides result = target;
  std::fill_n(&result[0], target.rank(), 1);
  for (int source = 0, axis = 0; source < axes.rank();) {
    int source_end = source + 1;
    int axis_end = axis + 1;
    for (int64_t has = axes[source], wants = target[axis]; has != wants;) {
      if (has < wants) {
        has *= axes[source_end++];
      } else {
        wants *= target[axis_end++];
      }
    }
    for (int at = source; at + 1 < source_end; ++at) {
      if (steps[at] != axes[at + 1] * steps[at + 1]) return std::nullopt;
    }
    int64_t step = steps[source_end - 1];
    for (int at = axis_end - 1; at >= axis; --at) {
      result[at] = step;
      step *= target[at];
    }
    source = source_end;
    axis = axis_end;
  }
  return result;
}

}  // namespace

Result<View> View::make(const Buffer& buffer, DType dtype, const Shape& shape,
                        const Strides& strides, int64_t byte_offset) {
  if (!buffer) return refuse("view", "the buffer is empty", "one with memory");
  NORITE_TRY(check_shape(dtype, shape, strides));
  const auto bytes = extent_bytes(dtype, shape, strides);
  const int64_t size = buffer.size_bytes();
  if (byte_offset < 0 || byte_offset > size || !bytes || *bytes > size - byte_offset) {
    return refuse("view",
                  fmt::format("shape {} with strides {} of {} at byte {} reaches outside",
                              to_string(shape), to_string(strides), name(dtype), byte_offset),
                  fmt::format("to stay within the {} bytes of the buffer", size));
  }
  if (byte_offset % size_of(dtype) != 0) {
    return refuse("view", fmt::format("byte offset {} of {}", byte_offset, name(dtype)),
                  fmt::format("a multiple of {}", size_of(dtype)));
  }
  View view(buffer);
  view.layout_ = std::make_shared<const core::Layout>(dtype, shape, strides, byte_offset);
  return view;
}

bool View::contiguous() const noexcept {
  int64_t expected = 1;
  for (int axis = shape().rank() - 1; axis >= 0; --axis) {
    if (shape()[axis] != 1 && strides()[axis] != expected) return false;
    expected *= shape()[axis];
  }
  return true;
}

Result<View> View::slice(int axis, int64_t begin, int64_t end) const {
  const core::Layout& from = layout();
  NORITE_TRY_ASSIGN(const int at, check_axis("slice", from.shape, axis));
  if (begin < 0 || begin >= end || end > from.shape[at]) {
    return refuse("slice",
                  fmt::format("[{}, {}) of axis {} of a view of shape {}", begin, end, axis,
                              to_string(from.shape)),
                  fmt::format("0 <= begin < end <= {}", from.shape[at]));
  }
  Shape shape = from.shape;
  shape[at] = end - begin;
  return make(buffer_, from.dtype, shape, from.strides,
              from.byte_offset + begin * from.strides[at] * size_of(from.dtype));
}

Result<View> View::reshape(const Shape& shape) const {
  const core::Layout& from = layout();
  const auto count = shape.count();
  if (!count || *count != this->count() || *count == 0) {
    return refuse(
        "reshape",
        fmt::format("{} from a view of shape {}", to_string(shape), to_string(from.shape)),
        "a shape of as many elements");
  }
  const auto strides = reshaped_strides(from.shape, from.strides, shape);
  if (!strides) {
    return refuse("reshape",
                  fmt::format("{} with strides {} cannot be seen as {} without a copy",
                              to_string(from.shape), to_string(from.strides), to_string(shape)),
                  "axes that lie evenly where they are joined");
  }
  return make(buffer_, from.dtype, shape, *strides, from.byte_offset);
}

Result<View> View::permute(std::initializer_list<int> order) const {
  const core::Layout& from = layout();
  Shape shape;
  Strides strides;
  unsigned seen = 0;
  for (const int axis : order) {
    NORITE_TRY_ASSIGN(const int at, check_axis("permute", from.shape, axis));
    seen |= 1u << at;
    shape.push_back(from.shape[at]);
    strides.push_back(from.strides[at]);
  }
  if (shape.rank() != from.shape.rank() || seen != (1u << from.shape.rank()) - 1) {
    return refuse("permute",
                  fmt::format("order [{}] of a view of shape {}", fmt::join(order, ", "),
                              to_string(from.shape)),
                  "each axis once");
  }
  return make(buffer_, from.dtype, shape, strides, from.byte_offset);
}

Result<View> View::reinterpret(DType dtype) const {
  const core::Layout& from = layout();
  if (size_of(dtype) != size_of(from.dtype)) {
    return refuse("reinterpret", fmt::format("{} from {}", name(dtype), name(from.dtype)),
                  "a dtype of the same size");
  }
  return make(buffer_, dtype, from.shape, from.strides, from.byte_offset);
}

Result<void> View::write(std::span<const std::byte> source) {
  if (!contiguous() || static_cast<int64_t>(source.size()) != size_bytes()) {
    return refuse("view write",
                  fmt::format("{} bytes into a {} view", source.size(),
                              contiguous() ? "contiguous" : "strided"),
                  fmt::format("a contiguous one and {} bytes", size_bytes()));
  }
  return buffer_.write(source, byte_offset());
}

Result<void> View::read(std::span<std::byte> target) const {
  if (!contiguous() || static_cast<int64_t>(target.size()) != size_bytes()) {
    return refuse("view read",
                  fmt::format("{} bytes from a {} view", target.size(),
                              contiguous() ? "contiguous" : "strided"),
                  fmt::format("a contiguous one and {} bytes", size_bytes()));
  }
  return buffer_.read(target, byte_offset());
}

std::byte* View::host_data() const noexcept {
  std::byte* base = buffer_.host_data();
  return base == nullptr ? nullptr : base + byte_offset();
}

}  // namespace norite
