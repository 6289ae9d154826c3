// SPDX-License-Identifier: MIT
#include "norite/layout.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace norite::core {

namespace {

struct Axis {
  int64_t stride;  // bytes
  int64_t extent;
};

struct Axes {
  std::array<Axis, Shape::kMaxRank> data;
  int count = 0;
};

// Axes along which the address changes, the smallest step first.
Axes moving_axes(const Layout& layout) noexcept {
  Axes axes;
  for (int axis = 0; axis < layout.shape.rank(); ++axis) {
    const int64_t stride = layout.strides[axis], extent = layout.shape[axis];
    if (extent == 1 || stride == 0) continue;
    axes.data[axes.count++] = {stride * size_of(layout.dtype), extent};
  }
  std::sort(axes.data.begin(), axes.data.begin() + axes.count,
            [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  return axes;
}

ByteRuns runs_along(const Axes& axes, int64_t begin, int64_t element_bytes) noexcept {
  ByteRuns runs{.begin = begin, .end = 0, .run = element_bytes, .pitch = 0, .bytes = element_bytes};
  int64_t reach = 0;
  for (int i = 0; i < axes.count; ++i) {
    const auto [stride, extent] = axes.data[i];
    runs.bytes *= extent;
    if (runs.pitch == 0 && stride <= runs.run) {
      runs.run += stride * (extent - 1);
    } else {
      runs.pitch = std::gcd(runs.pitch, stride);
      reach += stride * (extent - 1);
    }
  }
  runs.end = begin + reach + runs.run;
  return runs;
}

bool repeats(const Layout& layout, const Axes& axes) noexcept {
  for (int axis = 0; axis < layout.shape.rank(); ++axis) {
    if (layout.shape[axis] > 1 && layout.strides[axis] == 0) return true;
  }
  int64_t reach = size_of(layout.dtype);
  for (int i = 0; i < axes.count; ++i) {
    const auto [stride, extent] = axes.data[i];
    if (stride < reach) return true;
    reach += stride * (extent - 1);
  }
  return false;
}

}  // namespace

Layout::Layout(DType its_dtype, const Shape& its_shape, const Strides& its_strides,
               int64_t its_byte_offset) noexcept
    : dtype(its_dtype), shape(its_shape), strides(its_strides), byte_offset(its_byte_offset) {
  const Axes axes = moving_axes(*this);
  touched = runs_along(axes, byte_offset, size_of(dtype));
  repeats_itself = repeats(*this, axes);
}

}  // namespace norite::core
