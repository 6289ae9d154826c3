// SPDX-License-Identifier: MIT
// Sums over the THREADS_PER_ROW threads of a row, where a group works on ROWS_PER_GROUP rows at
// once. Their shape follows from THREADS_PER_ROW alone: a row's neighbours do not change its bits.
#pragma once

#include "common/lane_sum.h"

#if THREADS_PER_ROW > SIMD_WIDTH
#define SIMDGROUPS_PER_ROW (THREADS_PER_ROW / SIMD_WIDTH)
#else
#define SIMDGROUPS_PER_ROW 1
#endif

/// Places for what SIMD-groups tell each other.
#define EXCHANGE_SIZE (SIMDGROUPS_PER_ROW * ROWS_PER_GROUP)

/// The sum over a row's threads; every one of them gets it. `index` counts the group's threads, a
/// row's lie side by side. Between two uses of `exchange` there must be a barrier: long rows have
/// one in here, short rows stay within a SIMD-group and need neither.
template <typename T>
METAL_FUNC T row_sum(T value, threadgroup T* exchange, uint index) {
#if SIMDGROUPS_PER_ROW == 1
  return lane_sum<THREADS_PER_ROW>(value);
#else
  const uint simdgroup = index / SIMD_WIDTH, lane = index % SIMD_WIDTH;
  value = lane_sum<SIMD_WIDTH>(value);
  if (lane == 0) exchange[simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint first = simdgroup / SIMDGROUPS_PER_ROW * SIMDGROUPS_PER_ROW;
  return lane_sum<SIMDGROUPS_PER_ROW>(exchange[first + lane % SIMDGROUPS_PER_ROW]);
#endif
}

/// Adds up values[0 .. kCount), 32 at most, halves first: the order follows from the places alone.
template <uint kCount>
METAL_FUNC float fold(thread float* values) {
#pragma unroll
  for (uint distance = 16; distance > 0; distance /= 2) {
#pragma unroll
    for (uint i = 0; i < distance; ++i) {
      if (i + distance < kCount) values[i] += values[i + distance];
    }
  }
  return values[0];
}

// Few SIMD-groups tell each other the sums of all lanes, so that a row's sum has the same bits
// however many threads share it.
#define FOLDS_LANES (SIMDGROUPS_PER_ROW > 1 && SIMDGROUPS_PER_ROW <= 8)
#if FOLDS_LANES
#define FOLD_EXCHANGE_SIZE (EXCHANGE_SIZE * SIMD_WIDTH)
#else
#define FOLD_EXCHANGE_SIZE EXCHANGE_SIZE
#endif

/// Sums that a thread keeps of its packs: of each alone where their number is a power of two, as
/// folding wants them; else, and where a row is more than a tile, of all in their order, which takes
/// fewer registers.
#if !LOOPED && (VECTORS_PER_THREAD & (VECTORS_PER_THREAD - 1)) == 0
#define PACK_SUMS VECTORS_PER_THREAD
#else
#define PACK_SUMS 1
#endif

/// row_sum of what each thread holds; zero for a pack that is not there. With up to eight
/// SIMD-groups to a row and a power of two of packs to a thread, the row's halves are added first,
/// then their halves, down to neighbouring packs, whichever threads hold them.
METAL_FUNC float folded_row_sum(thread float* pack_sums, threadgroup float* exchange, uint index) {
  const float own = fold<PACK_SUMS>(pack_sums);
#if FOLDS_LANES
  exchange[index] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sums[SIMDGROUPS_PER_ROW];
#pragma unroll
  for (uint k = 0; k < SIMDGROUPS_PER_ROW; ++k) {
    sums[k] = exchange[index / THREADS_PER_ROW * THREADS_PER_ROW + k * SIMD_WIDTH +
                       index % SIMD_WIDTH];
  }
  return lane_sum<SIMD_WIDTH>(fold<SIMDGROUPS_PER_ROW>(sums));
#else
  return row_sum(own, exchange, index);
#endif
}
