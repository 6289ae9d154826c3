// SPDX-License-Identifier: MIT
// CUDA only: a row in threadgroup memory, where every thread copies the packs that it reads itself
// (VECTORS_PER_THREAD of them, PACK_STEP apart) and so waits for nobody.
#pragma once

#include "common/tile.h"
#include "cuda/async_copy.h"

typedef Pack<X_TYPE, VECTOR_WIDTH> RowPack;

/// Packs of one row.
#define ROW_PACKS (VECTORS_PER_THREAD * THREADS_PER_ROW)

/// As one thread sees it.
struct StagedRow {
  threadgroup RowPack* packs;  // the thread's first

  threadgroup RowPack* at(uint v) const { return packs + v * THREADS_PER_ROW; }

  /// `column`: of the thread's first pack.
  void start(device const X_TYPE* row, uint column, uint dim) const {
    const uint target = copy_target(packs);
    device const X_TYPE* const from = copy_source(row + column);
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const uint step = v * PACK_STEP;
      if (column + step < dim) start_copy(target + step * sizeof(X_TYPE), from + step);
    }
  }

  RowPack pack(uint v) const {
    RowPack pack;
    pack.words[0] = at(v)->words[0];  // one access
    return pack;
  }

  PackFloats floats(uint v) const { return pack(v).floats(); }
};
