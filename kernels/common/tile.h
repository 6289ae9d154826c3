// SPDX-License-Identifier: MIT
// A row is walked in tiles: THREADS_PER_ROW threads hold VECTORS_PER_THREAD packs of VECTOR_WIDTH
// elements each. Neighbouring threads hold neighbouring packs, and a thread's packs are requested
// together, so that there are always several accesses in flight. Most rows are a single tile and
// stay in registers. SHIFTED says that rows may begin and end inside of packs.
#pragma once

#include "common/pack.h"

// Kernels whose rows always begin with packs do not say.
#ifndef SHIFTED
#define SHIFTED 0
#endif

// Nor do those in which one group multiplies and writes all of a row.
#ifndef GROUPS_PER_ROW
#define GROUPS_PER_ROW 1
#endif

#define STEP_SIZE (THREADS_PER_ROW * VECTOR_WIDTH)
#define TILE_SIZE (STEP_SIZE * VECTORS_PER_THREAD)
/// What a thread sums of a tile.
#define TILE_PACKS (VECTORS_PER_THREAD + SHIFTED)

typedef Floats<VECTOR_WIDTH> PackFloats;

/// Where a row's columns are, counted from the pack of memory that it begins in.
struct RowFrame {
  uint begin, end;

  /// Whether a pack that begins with `column` has columns; asked for none before the row's first.
  bool has(uint column) const { return (GROUPS_PER_ROW == 1 || column >= begin) && column < end; }
};

#if SHIFTED
#include "common/shifted_tile.h"
#else

#define PACK_STEP STEP_SIZE

/// Of a thread's first pack; `index` counts the threads of a row.
METAL_FUNC uint first_column(uint index) { return index * VECTOR_WIDTH; }

template <typename T>
METAL_FUNC RowFrame frame_of(device const T*, uint dim) {
  return {0, dim};
}

/// One thread's part of a tile. Packs that begin past the end of the row are left alone.
template <typename T>
struct Tile {
  Pack<T, VECTOR_WIDTH> packs[VECTORS_PER_THREAD];

  /// `row`: where its frame begins; `column`: of the thread's first pack.
  void load(device const T* row, uint column, RowFrame frame) {
    device const T* const from = staying(row + column);
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      if (frame.has(column + v * PACK_STEP)) packs[v].load(from + v * PACK_STEP);
    }
  }

  /// Of the operand whose frame it is.
  void load_framed(device const T* row, uint column, RowFrame frame) { load(row, column, frame); }

  /// What was loaded becomes packs of the frame, and what lies behind them: here it is.
  void align(device const T*, uint, RowFrame) {}
  void align_framed(uint, RowFrame) {}
  void take_behind() {}

  void store(device T* row, uint column, RowFrame frame) const {
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const uint at = column + v * PACK_STEP;
      if (frame.has(at)) packs[v].store(row + at);
    }
  }
  void store_framed(device T* row, uint column, RowFrame frame) const { store(row, column, frame); }
};

/// A thread's sum of products over its columns.
struct RowSum {
  float sum;

  void begin() { sum = 0.0f; }
  void add(uint, PackFloats a, PackFloats b, uint, RowFrame) { sum = add_products(a, b, sum); }
  void add(PackFloats a, PackFloats b) { sum = add_products(a, b, sum); }
  void end_tile(uint, RowFrame) {}
};

#endif

/// What group `share` of the row's groups writes: as many packs of every thread.
#define SHARE_SIZE (((VECTORS_PER_THREAD - 1) / GROUPS_PER_ROW + 1) * PACK_STEP)
METAL_FUNC RowFrame share_of(RowFrame row, uint share) {
  if (GROUPS_PER_ROW == 1) return row;
  return {share * SHARE_SIZE, min((share + 1) * SHARE_SIZE, row.end)};
}
