// SPDX-License-Identifier: MIT
#pragma once

#include "common/fold.h"
#include "common/row_sum.h"
#include "common/tile.h"

/// Sums that a thread keeps of its packs: of each alone where their number is a power of two, as
/// folding wants them, or a row's threads are within a SIMD-group, as heads are folded; else, and
/// where a row is more than a tile or has more threads than fold, of all in their order, which
/// takes fewer registers.
#define PACKS_FOLD                                         \
  ((VECTORS_PER_THREAD & (VECTORS_PER_THREAD - 1)) == 0 || \
   (SIMDGROUPS_PER_ROW == 1 && VECTOR_WIDTH > 1))
#if !LOOPED && PACKS_FOLD && SIMDGROUPS_PER_ROW <= 16
#define PACK_SUMS VECTORS_PER_THREAD
#else
#define PACK_SUMS 1
#endif

// Up to sixteen SIMD-groups tell each other the sums of all lanes, so that a row's sum has the same
// bits however many threads share it.
#define FOLDS_LANES (SIMDGROUPS_PER_ROW > 1 && SIMDGROUPS_PER_ROW <= (PACK_SUMS > 1 ? 16 : 8))
#if FOLDS_LANES
#define FOLD_EXCHANGE_SIZE (EXCHANGE_SIZE * SIMD_WIDTH)
#else
#define FOLD_EXCHANGE_SIZE EXCHANGE_SIZE
#endif

/// row_sum of what each thread holds; zero for a pack that is not there. With up to
/// sixteen SIMD-groups to a row and a power of two of packs to a thread, the row's halves are added
/// first, then their halves, down to neighbouring packs, whichever threads hold them.
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

/// A row's sum of squares. It has the same bits however many threads share the row; shifted rows
/// have the same number of them always.
struct FoldedSum {
#if SHIFTED
  RowSum sum;

  void begin() { sum.begin(); }
  void add(uint v, PackFloats a, uint column, RowFrame frame) { sum.add(v, a, a, column, frame); }
  void end_tile(uint column, RowFrame frame) { sum.end_tile(column, frame); }
  float over_row(threadgroup float* exchange, uint index) {
    return row_sum(sum.sum, exchange, index);
  }
#else
  float packs[PACK_SUMS];

  void begin() {
    for (uint i = 0; i < PACK_SUMS; ++i) packs[i] = 0.0f;
  }
  void add(uint v, PackFloats a, uint, RowFrame) {
    packs[v % PACK_SUMS] = add_products(a, a, packs[v % PACK_SUMS]);
  }
  void end_tile(uint, RowFrame) {}
  float over_row(threadgroup float* exchange, uint index) {
    return folded_row_sum(packs, exchange, index);
  }
#endif
};
