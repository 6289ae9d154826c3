// SPDX-License-Identifier: MIT
// CUDA only: the ring of tile_ring.h for rows that begin anywhere, where the lanes of a SIMD-group
// copy and store its run together, in accesses that begin with lines of memory wherever the run
// does: one that begins elsewhere touches a line more. The lanes wait for each other where they
// would not have to otherwise, which pays where a step does much: on an H200, backward, bf16 rows
// of 8193 to 250001 columns gain 3 to 12 %, f32 ones up to 1 % to 100003 columns, and lose 5 % at
// 250001. Forward, f32 rows lose. That runs inside of a row do not look for its ends gains 2 to 4 %
// more in f32 (100003, 250001 columns), and up to 2 % in bf16.
//
// Other rows (not SHIFTED) take tile_ring.h's way.
#pragma once

#include "cuda/tile_ring.h"

#if SHIFTED

/// A lane's packs of the run in such accesses: those that lie `lag` packs before the ones it holds.
struct LinePlace {
  enum : uint { kPacks = 8 };  // of a line

  uint lag, lane;

  static LinePlace of(device const X_TYPE* row, uint column) {
    return {uint(reinterpret_cast<ulong>(row) / sizeof(RowPack) % kPacks), lane_of(column)};
  }
  /// Whether pack `v` is one of the run's, or of the `behind` packs that follow.
  bool has(uint v, uint behind) const {
    return v == 0 ? lane >= lag : v < VECTORS_PER_THREAD || lane < lag + behind;
  }
};

/// Whether the row goes on before and behind a run, so that none of its packs has to be looked at.
METAL_FUNC bool is_inside(TilePlace place) {
  const uint run = run_of(place.first);
  return run >= place.frame.begin && run + RUN_SIZE + VECTOR_WIDTH <= place.frame.end;
}

#endif

template <uint kStages>
struct LineRing : TileRing<kStages> {
  static LineRing in(threadgroup RowPack* stages, uint index) {
    LineRing ring;
    ring.packs = TileRing<kStages>::in(stages, index).packs;
    return ring;
  }

#if SHIFTED
  /// As TileRing's, once the other lanes have read what was there before.
  void start(uint step, device const X_TYPE* row, TilePlace place) const {
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (is_inside(place)) {
      start_run<true>(step, row, place);
    } else {
      start_run<false>(step, row, place);
    }
  }

  template <bool kInside>
  void start_run(uint step, device const X_TYPE* row, TilePlace place) const {
    const LinePlace line = LinePlace::of(row, place.first);
    const uint first = place.first - line.lag * VECTOR_WIDTH;
    const uint target = copy_target(this->at(step, 0) - line.lag);
    device const X_TYPE* const from = copy_source(row + place.first - line.lag * VECTOR_WIDTH);
#pragma unroll
    for (uint v = 0; v < TILE_PACKS; ++v) {
      const uint ahead = v * PACK_STEP;
      if (line.has(v, 1) && (kInside || first + ahead < place.frame.end)) {
        start_copy(target + ahead * sizeof(X_TYPE), from + ahead);
      }
    }
  }

  /// For threads whose own copies have arrived: those of the other lanes have, too.
  void meet() const { simdgroup_barrier(mem_flags::mem_threadgroup); }

  /// What threads have written to the ring, to an operand that lies as the frame does.
  void store(uint step, device X_TYPE* row, TilePlace place) const {
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (is_inside(place)) {
      store_run<true>(step, row, place);
    } else {
      store_run<false>(step, row, place);
      store_ends(step, row, place);
    }
  }

  template <bool kInside>
  void store_run(uint step, device X_TYPE* row, TilePlace place) const {
    const LinePlace line = LinePlace::of(row, place.first);
    const uint first = place.first - line.lag * VECTOR_WIDTH;
    threadgroup const RowPack* const from = this->at(step, 0) - line.lag;
    device RowPack* const to =  // counted in packs, as shifted_tile.h does
        reinterpret_cast<device RowPack*>(row) + place.first / VECTOR_WIDTH - line.lag;
#pragma unroll
    for (uint v = 0; v < TILE_PACKS; ++v) {
      const uint column = first + v * PACK_STEP, ahead = v * SIMD_WIDTH;
      const bool whole = column >= place.frame.begin && column + VECTOR_WIDTH <= place.frame.end;
      if (line.has(v, 0) && (kInside || whole)) to[ahead].words[0] = from[ahead].words[0];
    }
  }

  /// Packs that the row begins and ends in, an element a lane.
  void store_ends(uint step, device X_TYPE* row, TilePlace place) const {
    typedef typename Word<X_TYPE>::Bits Bits;
    const uint lane = lane_of(place.first), run = run_of(place.first);
    const uint last = place.frame.end / VECTOR_WIDTH * VECTOR_WIDTH;
    const uint pack = lane < VECTOR_WIDTH ? 0 : last;
    const uint column = pack + lane % VECTOR_WIDTH;
    const bool is_end = lane < VECTOR_WIDTH ? place.frame.begin > 0 : lane < 2 * VECTOR_WIDTH;
    const bool is_row = column >= place.frame.begin && column < place.frame.end;
    if (!is_end || !is_row || pack - run >= RUN_SIZE) return;
    threadgroup const RowPack* const run_packs = this->at(step, 0) - lane;
    reinterpret_cast<device Bits*>(row)[column] =
        reinterpret_cast<threadgroup const Bits*>(run_packs)[column - run];
  }
#else
  void meet() const {}
#endif
};

/// As tile_ring.h's, through place `step` of the ring where outputs lie as x does.
template <uint kStages>
METAL_FUNC void store_tile(Tile<X_TYPE> tile, LineRing<kStages> ring, uint step,
                           device X_TYPE* row, TilePlace place) {
#if SHIFTED && ALIKE
  ring.write(step, tile);
  ring.store(step, row, place);
#else
  store_tile(tile, row, place);
#endif
}
