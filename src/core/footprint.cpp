// SPDX-License-Identifier: MIT
#include "core/footprint.hpp"

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
Axes moving_axes(const View& view) noexcept {
  Axes axes;
  for (int axis = 0; axis < view.shape().rank(); ++axis) {
    if (view.shape()[axis] == 1 || view.strides()[axis] == 0) continue;
    axes.data[axes.count++] = {view.strides()[axis] * size_of(view.dtype()), view.shape()[axis]};
  }
  std::sort(axes.data.begin(), axes.data.begin() + axes.count,
            [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  return axes;
}

}  // namespace

Footprint footprint(const View& view) noexcept {
  Footprint result;
  result.storage = view.buffer().storage().get();
  result.begin = view.byte_offset();
  result.run = size_of(view.dtype());
  result.bytes = result.run;
  int64_t reach = 0;
  const Axes axes = moving_axes(view);
  for (int i = 0; i < axes.count; ++i) {
    const auto [stride, extent] = axes.data[i];
    result.bytes *= extent;
    if (result.pitch == 0 && stride <= result.run) {
      result.run += stride * (extent - 1);
    } else {
      result.pitch = std::gcd(result.pitch, stride);
      reach += stride * (extent - 1);
    }
  }
  result.end = result.begin + reach + result.run;
  return result;
}

bool may_overlap(const Footprint& a, const Footprint& b) noexcept {
  if (a.storage != b.storage || a.end <= b.begin || b.end <= a.begin) return false;
  // Every run of both starts at its begin modulo the common pitch: compare them on that circle.
  const int64_t pitch = std::gcd(a.pitch, b.pitch);
  if (pitch == 0 || a.run >= pitch || b.run >= pitch) return true;
  const int64_t ahead = ((b.begin - a.begin) % pitch + pitch) % pitch;
  return ahead < a.run || pitch - ahead < b.run;
}

bool same_view(const View& a, const View& b) noexcept {
  if (a.buffer().storage() != b.buffer().storage() || a.byte_offset() != b.byte_offset() ||
      a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return false;
  }
  for (int axis = 0; axis < a.shape().rank(); ++axis) {
    // A single element's stride leads nowhere.
    if (a.shape()[axis] > 1 && a.strides()[axis] != b.strides()[axis]) return false;
  }
  return true;
}

bool repeats_itself(const View& view) noexcept {
  for (int axis = 0; axis < view.shape().rank(); ++axis) {
    if (view.shape()[axis] > 1 && view.strides()[axis] == 0) return true;
  }
  int64_t reach = size_of(view.dtype());
  const Axes axes = moving_axes(view);
  for (int i = 0; i < axes.count; ++i) {
    const auto [stride, extent] = axes.data[i];
    if (stride < reach) return true;
    reach += stride * (extent - 1);
  }
  return false;
}

}  // namespace norite::core
