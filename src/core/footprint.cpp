// SPDX-License-Identifier: MIT
#include "core/footprint.hpp"

#include <numeric>

namespace norite::core {

bool runs_meet(const ByteRuns& a, const ByteRuns& b) noexcept {
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

}  // namespace norite::core
