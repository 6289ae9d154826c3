// SPDX-License-Identifier: MIT
#include "core/footprint.hpp"

#include <numeric>
#include <utility>

#include "core/backend.hpp"

namespace norite::core {

bool runs_meet(const ByteRuns& a, const ByteRuns& b) noexcept {
  // Every run of both starts at its begin modulo the common pitch: compare them on that circle.
  const int64_t pitch = std::gcd(a.pitch, b.pitch);
  if (pitch == 0 || a.run >= pitch || b.run >= pitch) return true;
  const int64_t ahead = ((b.begin - a.begin) % pitch + pitch) % pitch;
  return ahead < a.run || pitch - ahead < b.run;
}

bool may_meet(const View& a, const View& b) noexcept {
  if (a.buffer().storage() == b.buffer().storage()) return may_overlap(footprint(a), footprint(b));
  const auto bytes = [](const View& view) {
    const Storage& storage = *view.buffer().storage();
    const auto begin = static_cast<int64_t>(storage.backend().address_of(storage));
    return std::pair{begin + view.layout().touched.begin, begin + view.layout().touched.end};
  };
  const auto [a_begin, a_end] = bytes(a);
  const auto [b_begin, b_end] = bytes(b);
  return a_begin < b_end && b_begin < a_end;
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
