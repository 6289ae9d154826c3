// SPDX-License-Identifier: MIT
// Reductions, scans, shuffles and votes among groups of Width neighbouring lanes: 32 for a
// simdgroup, 4 for a quad. The lanes meet, one function serves them all, and each takes away its
// result. Lanes that are not active take no part.
#pragma once
#include "shim/config.h"
#include "shim/cpu_bits.h"
#include "shim/cpu_meeting.h"
#include "shim/lane_operations.h"

namespace norite_msl {

NORITE_MSL_INLINE constexpr bool has_lane(unsigned mask, unsigned lane) {
  return (mask >> lane) & 1;
}

/// What each lane brought, and takes away, by lane.
template <class V>
struct LaneValues {
  unsigned char* slots;

  NORITE_MSL_INLINE V get(unsigned lane) const {
    V value;
    __builtin_memcpy(&value, slots + lane * kMaxExchangeBytes, sizeof(V));
    return value;
  }
  NORITE_MSL_INLINE void set(unsigned lane, const V& value) {
    __builtin_memcpy(slots + lane * kMaxExchangeBytes, &value, sizeof(V));
  }
};

/// Runs `exchange` once for the lanes that meet here; returns what it left for this one.
template <class V>
NORITE_MSL_COLLECTIVE V exchange_lanes(V value, LaneExchange exchange) {
  static_assert(sizeof(V) <= kMaxExchangeBytes, "the type is too large for a lane exchange");
  meet_lanes(&value, sizeof(V), exchange);
  return value;
}

/// A tree that folds the upper half of a group onto the lower until one value is left: with every
/// lane active the same bits as a butterfly of xor shuffles by 16, 8, 4, 2 and 1.
template <int Width, class Op, class T>
NORITE_MSL_UNCHECKED static void reduce_lanes(unsigned char* slots, unsigned active) {
  LaneValues<T> lanes{slots};
  for (unsigned first = 0; first < kSimdWidth; first += Width) {
    T value[Width];
    unsigned filled = 0;
    for (unsigned i = 0; i < Width; ++i) {
      if (!has_lane(active, first + i)) continue;
      value[i] = lanes.get(first + i);
      filled |= 1u << i;
    }
    for (unsigned half_width = Width / 2; half_width > 0; half_width /= 2) {
      for (unsigned i = 0; i < half_width; ++i) {
        const unsigned j = i + half_width;
        if (!has_lane(filled, j)) continue;
        value[i] = has_lane(filled, i) ? Op()(value[i], value[j]) : value[j];
        filled |= 1u << i;
      }
    }
    for (unsigned i = 0; i < Width; ++i) {
      if (has_lane(active, first + i)) lanes.set(first + i, value[0]);
    }
  }
}

/// Sequential; an exclusive scan starts from the operation's neutral value.
template <int Width, class Op, int Neutral, bool Inclusive, class T>
NORITE_MSL_UNCHECKED static void scan_lanes(unsigned char* slots, unsigned active) {
  LaneValues<T> lanes{slots};
  T before = T(Neutral);
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (lane % Width == 0) before = T(Neutral);
    if (!has_lane(active, lane)) continue;
    const T after = Op()(before, lanes.get(lane));
    lanes.set(lane, Inclusive ? after : before);
    before = after;
  }
}

template <class T>
struct Shuffled {
  T value;
  ushort operand;
};

/// Reading a lane that is absent, which Metal leaves undefined, gives the reader its own value.
template <int Width, class From, class T>
NORITE_MSL_UNCHECKED static void shuffle_lanes(unsigned char* slots, unsigned active) {
  LaneValues<Shuffled<T>> lanes{slots};
  T value[kSimdWidth];
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    const Shuffled<T> own = lanes.get(lane);
    const unsigned first = lane - lane % Width;
    const unsigned source = From::of(lane % Width, own.operand, Width);
    const bool there = source < Width && has_lane(active, first + source);
    value[lane] = there ? lanes.get(first + source).value : own.value;
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (has_lane(active, lane)) lanes.set(lane, {value[lane], 0});
  }
}

template <class T>
struct Filled {
  T value;
  T filling;
  ushort delta;
  ushort modulo;
};

/// A shift within blocks of `modulo` lanes; what comes in at the end is taken from the filling, as
/// if it lay beside the values.
template <int Width, bool Up, class T>
NORITE_MSL_UNCHECKED static void shift_and_fill_lanes(unsigned char* slots, unsigned active) {
  LaneValues<Filled<T>> lanes{slots};
  T value[kSimdWidth];
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    const Filled<T> own = lanes.get(lane);
    const unsigned modulo = own.modulo == 0 || own.modulo > Width ? Width : own.modulo;
    const unsigned place = lane % modulo;
    const unsigned delta = own.delta % modulo;
    const unsigned first = lane - place;
    const bool inside = Up ? place >= delta : place + delta < modulo;
    const unsigned source = first + (Up ? place + modulo - delta : place + delta) % modulo;
    const Filled<T> read = has_lane(active, source) ? lanes.get(source) : own;
    value[lane] = inside ? read.value : read.filling;
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    Filled<T> result = lanes.get(lane);
    result.value = value[lane];
    lanes.set(lane, result);
  }
}

/// Everyone gets the value of the group's first active lane.
template <int Width, class T>
NORITE_MSL_UNCHECKED static void broadcast_first_lane(unsigned char* slots, unsigned active) {
  LaneValues<T> lanes{slots};
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    const unsigned first = lane - lane % Width;
    const unsigned in_group = active >> first;
    lanes.set(lane, lanes.get(first + unsigned(trailing_zeros64(in_group))));
  }
}

/// Brings 0 or 1; takes away the group's bits.
template <int Width>
NORITE_MSL_UNCHECKED static void vote_lanes(unsigned char* slots, unsigned active) {
  LaneValues<unsigned> lanes{slots};
  unsigned votes = 0;
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (has_lane(active, lane)) votes |= (lanes.get(lane) & 1u) << lane;
  }
  constexpr unsigned group = ~0u >> (kSimdWidth - Width);
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (has_lane(active, lane)) lanes.set(lane, (votes >> (lane - lane % Width)) & group);
  }
}

/// Takes away whether the lane is the group's first active one.
template <int Width>
NORITE_MSL_UNCHECKED static void elect_lanes(unsigned char* slots, unsigned active) {
  LaneValues<unsigned> lanes{slots};
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    const unsigned earlier = (1u << lane % Width) - 1;
    lanes.set(lane, ((active >> (lane - lane % Width)) & earlier) == 0);
  }
}

template <int Width, class Op, class T>
NORITE_MSL_COLLECTIVE T reduce(T value) {
  return exchange_lanes(value, reduce_lanes<Width, Op, T>);
}

template <int Width, class Op, int Neutral, bool Inclusive, class T>
NORITE_MSL_COLLECTIVE T scan(T value) {
  return exchange_lanes(value, scan_lanes<Width, Op, Neutral, Inclusive, T>);
}

template <int Width, class From, class T>
NORITE_MSL_COLLECTIVE T shuffle(T value, ushort operand) {
  return exchange_lanes(Shuffled<T>{value, operand}, shuffle_lanes<Width, From, T>).value;
}

template <int Width, bool Up, class T>
NORITE_MSL_COLLECTIVE T shift_and_fill(T value, T filling, ushort delta, ushort modulo) {
  const Filled<T> mine = {value, filling, delta, modulo};
  return exchange_lanes(mine, shift_and_fill_lanes<Width, Up, T>).value;
}

template <int Width, class T>
NORITE_MSL_COLLECTIVE T broadcast_first(T value) {
  return exchange_lanes(value, broadcast_first_lane<Width, T>);
}

/// The group's votes, its first lane's in bit 0.
template <int Width>
NORITE_MSL_COLLECTIVE unsigned vote(bool mine) {
  return exchange_lanes<unsigned>(mine, vote_lanes<Width>);
}

template <int Width>
NORITE_MSL_COLLECTIVE bool is_first() {
  return exchange_lanes<unsigned>(0, elect_lanes<Width>) != 0;
}

}  // namespace norite_msl
