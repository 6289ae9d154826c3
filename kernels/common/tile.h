// SPDX-License-Identifier: MIT
// A row is walked in tiles: THREADS_PER_ROW threads hold VECTORS_PER_THREAD packs of VECTOR_WIDTH
// elements each. Neighbouring threads hold neighbouring packs, and a thread's packs are requested
// together, so that there are always several accesses in flight. Most rows are a single tile and
// stay in registers.
#pragma once

#include "common/pack.h"

#define PACK_STEP (THREADS_PER_ROW * VECTOR_WIDTH)
#define TILE_SIZE (PACK_STEP * VECTORS_PER_THREAD)

typedef Floats<VECTOR_WIDTH> PackFloats;

/// One thread's part of a tile. Packs that begin past the end of the row are left alone.
template <typename T>
struct Tile {
  Pack<T, VECTOR_WIDTH> packs[VECTORS_PER_THREAD];

  /// `column`: of the thread's first pack.
  void load(device const T* row, uint column, uint dim) {
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const uint at = column + v * PACK_STEP;
      if (at < dim) packs[v].load(row + at);
    }
  }
};
