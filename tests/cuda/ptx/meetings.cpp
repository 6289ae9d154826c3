// SPDX-License-Identifier: MIT
// What lanes of a warp tell each other. From a lane that takes no part comes rubbish.
#include <array>
#include <cstring>

#include "cuda/ptx/operations.hpp"

namespace norite::ptx {

namespace {

enum class From { up, down, butterfly, lane };

/// Registers: the result, the value, the distance or lane, and the bounds: the last lane of a
/// segment in the lower bits, what tells segments apart above. With a second result, a predicate:
/// whether the value is another lane's.
template <From kFrom>
void shuffle(Warp& warp, const Instruction& one, Mask lanes) {
  std::array<uint32_t, kLanes> values;
  std::memcpy(values.data(), warp.at<uint32_t>(one.at[1]), sizeof values);
  uint32_t* const result = warp.at<uint32_t>(one.at[0]);
  Mask came = 0;
  for_lanes(lanes, [&](unsigned lane) {
    const unsigned distance = warp.at<uint32_t>(one.at[2])[lane] & 31;
    const unsigned bounds = warp.at<uint32_t>(one.at[3])[lane];
    const unsigned last = bounds & 31, segment = bounds >> 8 & 31;
    const unsigned most = (lane & segment) | (last & ~segment), least = lane & segment;
    const unsigned source = kFrom == From::up          ? lane - distance
                            : kFrom == From::down      ? lane + distance
                            : kFrom == From::butterfly ? lane ^ distance
                                                       : least | (distance & ~segment);
    const bool inside =
        kFrom == From::up ? static_cast<int>(source) >= static_cast<int>(most) : source <= most;
    const unsigned from = inside ? source : lane;
    came |= Mask{inside} << lane;
    result[lane] = lanes >> from & 1 ? values[from] : 0xffffffff;
  });
  if (one.count == 2) *warp.at<Mask>(one.at[4]) = (*warp.at<Mask>(one.at[4]) & ~lanes) | came;
}

void ballot(Warp& warp, const Instruction& one, Mask lanes) {
  const Mask votes = *warp.at<Mask>(one.at[1]) & lanes;
  for_lanes(lanes, [&](unsigned lane) { warp.at<uint32_t>(one.at[0])[lane] = votes; });
}

}  // namespace

Handler* meeting(const Statement& one) {
  if (one.opcode[0] == "vote") return one.has("ballot") ? &ballot : nullptr;
  if (one.opcode[0] != "shfl") return nullptr;
  if (one.has("up")) return &shuffle<From::up>;
  if (one.has("down")) return &shuffle<From::down>;
  if (one.has("bfly")) return &shuffle<From::butterfly>;
  return one.has("idx") ? &shuffle<From::lane> : nullptr;
}

}  // namespace norite::ptx
