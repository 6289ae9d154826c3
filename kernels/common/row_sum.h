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

/// Between reading a tile and overwriting it in place, and the other way round: of shifted rows,
/// threads also read what others of the row write. Nothing for other rows.
METAL_FUNC void meet_in_place() {
#if SHIFTED && SIMDGROUPS_PER_ROW > 1
  threadgroup_barrier(mem_flags::mem_device);
#elif SHIFTED
  simdgroup_barrier(mem_flags::mem_device);
#endif
}

/// Places for what SIMD-groups tell each other.
#define EXCHANGE_SIZE (SIMDGROUPS_PER_ROW * ROWS_PER_GROUP)
/// The next power of two, for a butterfly.
#if SIMDGROUPS_PER_ROW <= 2
#define EXCHANGE_PLACES SIMDGROUPS_PER_ROW
#elif SIMDGROUPS_PER_ROW <= 4
#define EXCHANGE_PLACES 4
#elif SIMDGROUPS_PER_ROW <= 8
#define EXCHANGE_PLACES 8
#elif SIMDGROUPS_PER_ROW <= 16
#define EXCHANGE_PLACES 16
#else
#define EXCHANGE_PLACES 32
#endif

/// The sum over a row's threads; every one of them gets it. `index` counts the group's threads, a
/// row's lie side by side. Between two uses of `exchange` there must be a barrier: long rows have
/// one in here, short rows stay within a SIMD-group and need neither.
template <typename T>
METAL_FUNC T row_sum(T value, threadgroup T* exchange, uint index) {
#if SIMDGROUPS_PER_ROW == 1
  meet_in_place();
  return lane_sum<THREADS_PER_ROW>(value);
#else
  const uint simdgroup = index / SIMD_WIDTH, lane = index % SIMD_WIDTH;
  value = lane_sum<SIMD_WIDTH>(value);
  if (lane == 0) exchange[simdgroup] = value;
#if SHIFTED
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
#else
  threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
  const uint first = simdgroup / SIMDGROUPS_PER_ROW * SIMDGROUPS_PER_ROW;
  const uint place = lane % EXCHANGE_PLACES;
  return lane_sum<EXCHANGE_PLACES>(place < SIMDGROUPS_PER_ROW ? exchange[first + place] : T(0.0f));
#endif
}
