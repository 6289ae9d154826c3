// SPDX-License-Identifier: MIT
// Reductions, scans, shuffles and votes among groups of Width neighbouring lanes: 32 for a
// simdgroup, 4 for a quad. A simdgroup is a warp, and all of its threads that have not returned
// must call together: unlike Metal's, these do not serve some lanes of a branch. Only the last
// simdgroup of a group can lack lanes, and it lacks the upper ones.
#pragma once
#include "shim/config.h"
#include "shim/cuda_meeting.h"
#include "shim/lane_operations.h"

namespace norite_msl {

constexpr unsigned kAllLanes = ~0u;

template <unsigned Words>
struct LaneWords {
  uint at[Words];
};

/// Moves a value of any size word by word.
template <class T, class Move>
NORITE_MSL_INLINE T move_lanes(T value, Move move) {
  if constexpr (sizeof(T) % 4 == 0) {
    using Words = LaneWords<sizeof(T) / 4>;
    static_assert(sizeof(Words) == sizeof(T));  // NVRTC before 12.9 has to be made to look at it
    auto words = __builtin_bit_cast(Words, value);
    for (uint& word : words.at) word = move(word);
    return __builtin_bit_cast(T, words);
  } else {
    using Part = metal::conditional_t<sizeof(T) == 2, ushort, uchar>;
    static_assert(sizeof(T) == sizeof(Part), "a lane's value has 1, 2 or whole words of bytes");
    return __builtin_bit_cast(T, Part(move(uint(__builtin_bit_cast(Part, value)))));
  }
}

template <class T>
NORITE_MSL_INLINE T from_lane(T value, uint lane) {
  return move_lanes(value, [=](uint word) { return __shfl_sync(kAllLanes, word, lane); });
}

/// A lane out of reach is one's own.
template <int Width, class From, class T>
NORITE_MSL_INLINE T shuffle(T value, ushort operand) {
  return move_lanes(value, [=](uint word) {
    if constexpr (metal::is_same_v<From, FromXor>) {
      return __shfl_xor_sync(kAllLanes, word, operand, Width);
    } else if constexpr (metal::is_same_v<From, FromUp>) {
      return __shfl_up_sync(kAllLanes, word, operand, Width);
    } else if constexpr (metal::is_same_v<From, FromDown>) {
      return __shfl_down_sync(kAllLanes, word, operand, Width);
    } else {
      return __shfl_sync(kAllLanes, word, From::of(lane_index() % Width, operand, Width), Width);
    }
  });
}

/// The lanes of a simdgroup that voted yes; those that have returned did not.
NORITE_MSL_INLINE unsigned votes(bool mine) { return __ballot_sync(kAllLanes, mine); }

/// A butterfly of xor shuffles by 16, 8, 4, 2 and 1. Where lanes are missing, a tree that folds the
/// upper half onto the lower: the same bits as on the CPU.
template <int Width, class Op, class T>
NORITE_MSL_INLINE T reduce(T value) {
  const unsigned there = votes(true);
  if (there == kAllLanes) {
#pragma unroll
    for (ushort distance = Width / 2; distance > 0; distance /= 2) {
      value = Op()(value, shuffle<Width, FromXor>(value, distance));
    }
    return value;
  }
  const uint lane = lane_index(), lanes = __popc(there);
  for (ushort distance = Width / 2; distance > 0; distance /= 2) {
    const T other = shuffle<Width, FromDown>(value, distance);
    if (lane + distance < lanes) value = Op()(value, other);
  }
  return from_lane(value, lane - lane % Width);
}

/// Sums of floating numbers go from lane to lane, in the order of the CPU; integers double their
/// reach with every step.
template <int Width, class Op, int Neutral, bool Inclusive, class T>
NORITE_MSL_INLINE T scan(T value) {
  const uint place = lane_index() % Width;
  if constexpr (metal::is_integral_v<element_t<T>>) {
    for (ushort distance = 1; distance < Width; distance *= 2) {
      const T other = shuffle<Width, FromUp>(value, distance);
      if (place >= distance) value = Op()(other, value);
    }
    if constexpr (Inclusive) return value;
    const T before = shuffle<Width, FromUp>(value, 1);
    return place == 0 ? T(Neutral) : before;
  } else {
    T result = T(Neutral);
    for (ushort i = 0; i < Width; ++i) {
      const T other = shuffle<Width, FromLane>(value, i);
      if (i < place || (Inclusive && i == place)) result = Op()(result, other);
    }
    return result;
  }
}

/// A shift within blocks of `modulo` lanes; what comes in at the end is taken from the filling, as
/// if it lay beside the values.
template <int Width, bool Up, class T>
NORITE_MSL_INLINE T shift_and_fill(T value, T filling, ushort delta, ushort modulo) {
  const uint lane = lane_index();
  const uint block = modulo == 0 || modulo > Width ? Width : modulo;
  const uint place = lane % block, shift = delta % block;
  const bool inside = Up ? place >= shift : place + shift < block;
  const uint source = lane - place + (Up ? place + block - shift : place + shift) % block;
  const T moved = from_lane(value, source), filled = from_lane(filling, source);
  return inside ? moved : filled;
}

/// Everyone gets the value of the group's first lane.
template <int Width, class T>
NORITE_MSL_INLINE T broadcast_first(T value) {
  return shuffle<Width, FromLane>(value, 0);
}

/// The group's votes, its first lane's in bit 0.
template <int Width>
NORITE_MSL_INLINE unsigned vote(bool mine) {
  const uint lane = lane_index();
  return votes(mine) >> (lane - lane % Width) & kAllLanes >> (kSimdWidth - Width);
}

template <int Width>
NORITE_MSL_INLINE bool is_first() {
  return lane_index() % Width == 0;
}

}  // namespace norite_msl
