// SPDX-License-Identifier: MIT
// Packs of rows that begin anywhere, put together from packs of memory, which lie where addresses
// are multiples of their size: the end of one and the beginning of the next, which a neighbouring
// lane has. Lanes tell each other, in registers.
#pragma once

#include "common/lane_sum.h"
#include "common/pack.h"

/// Elements by which something begins after a pack of memory.
template <typename T>
METAL_FUNC uint shift_of(device const T* row) {
  return uint(reinterpret_cast<ulong>(row) / sizeof(T) % VECTOR_WIDTH);
}

/// function<words>(...), for less than kWords of them. A SIMD-group agrees on its shift, and one
/// that the compiler knows costs nothing: words change their names.
#define WITH_WORDS(words, kWords, function, ...)             \
  switch (words) {                                           \
    case 0: function<0>(__VA_ARGS__); break;                 \
    case 1: function<1 % kWords>(__VA_ARGS__); break;        \
    case 2: function<2 % kWords>(__VA_ARGS__); break;        \
    case 3: function<3 % kWords>(__VA_ARGS__); break;        \
    case 4: function<4 % kWords>(__VA_ARGS__); break;        \
    case 5: function<5 % kWords>(__VA_ARGS__); break;        \
    case 6: function<6 % kWords>(__VA_ARGS__); break;        \
    case 7: function<7 % kWords>(__VA_ARGS__); break;        \
    default: break;                                          \
  }

/// Both ways, by kShift words and, where a word is two elements, 0 or 16 `bits`.
template <typename T>
struct ShiftedPack {
  typedef Pack<T, VECTOR_WIDTH> RowPack;
  enum : uint { kElements = Word<T>::kElements, kWords = VECTOR_WIDTH / kElements };

  /// The pack that begins kShift words after a pack of memory. It ends with what the next lane has;
  /// the last lane's ends with what the first has in `after`.
  template <uint kShift>
  static RowPack of_row(RowPack pack, RowPack after, uint bits, uint lane) {
    uint words[kWords + kShift + 1];
    for (uint i = 0; i < kWords; ++i) words[i] = pack.word(i);
    words[kWords + kShift] = 0;
#pragma unroll
    for (uint i = 0; i < kShift + (kElements - 1); ++i) {
      words[kWords + i] = simd_shuffle_rotate_down(lane == 0 ? after.word(i) : pack.word(i), 1);
    }
#pragma unroll
    for (uint i = 0; i < kWords; ++i) {
      const ulong both = ulong(words[kShift + i + 1]) << 32 | words[kShift + i];
      pack.set_word(i, kElements == 1 ? words[kShift + i] : uint(both >> bits));
    }
    return pack;
  }

  /// The pack of memory that begins kShift words before. It begins with what the previous lane has;
  /// the first lane's begins with what the last has in `before`.
  template <uint kShift>
  static RowPack of_memory(RowPack pack, RowPack before, uint bits, uint lane) {
    enum : uint { kTaken = kShift + 1 };
    uint words[kTaken + kWords];
    words[0] = 0;
#pragma unroll
    for (uint i = 2 - kElements; i < kTaken; ++i) {
      const uint at = kWords - kTaken + i;
      const bool last = lane == SIMD_WIDTH - 1;
      words[i] = simd_shuffle_rotate_up(last ? before.word(at) : pack.word(at), 1);
    }
    for (uint i = 0; i < kWords; ++i) words[kTaken + i] = pack.word(i);
#pragma unroll
    for (uint i = 0; i < kWords; ++i) {
      const ulong both = ulong(words[i + 1]) << 32 | words[i];
      pack.set_word(i, kElements == 1 ? words[i + 1] : uint(both << bits >> 32));
    }
    return pack;
  }
};
