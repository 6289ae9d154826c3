// SPDX-License-Identifier: MIT
// CUDA only: tiles of rows on their way from device memory to threadgroup memory while threads work
// on the ones before, several of an operand at a time: one that comes, one that is summed, and of
// what is still to be written those that wait for the sums of their whole row.
//
// A thread copies what it reads itself, and waits for nobody. Of rows that begin anywhere
// (SHIFTED), these are packs with whatever lies before the row in its first; behind the row there
// are zeros.
#pragma once

#include "common/row_sum.h"
#include "common/tile.h"
#include "cuda/async_copy.h"

typedef Pack<X_TYPE, VECTOR_WIDTH> RowPack;

/// A SIMD-group of shifted rows has one pack more: that behind its run.
#define STAGE_PACKS (VECTORS_PER_THREAD * THREADS_PER_ROW + SHIFTED * SIMDGROUPS_PER_ROW)
/// Of a row: as many groups share it. A shifted one may reach into one pack more.
#define TILES_OF(dim) (uint(((dim) - 1 + SHIFTED * (VECTOR_WIDTH - 1)) / TILE_SIZE) + 1)

/// A thread's packs of a tile, PACK_STEP apart. All rows of a group have the same frame; that of
/// 16-bit rows ends with the group's tile (tile_place). Where rows are so many whole tiles (WHOLE),
/// all packs exist, and neither copies nor stores have to ask.
struct TilePlace {
  uint first;
  RowFrame frame;

  uint at(uint v) const { return first + v * PACK_STEP; }
  bool exists(uint v) const { return WHOLE || at(v) < frame.end; }
  /// The pack behind a run is the first lane's.
  bool holds(uint v) const {
    return v < VECTORS_PER_THREAD || first / VECTOR_WIDTH % SIMD_WIDTH == 0;
  }
  bool has(uint v) const { return holds(v) && exists(v); }
  /// Columns of the frame from the thread's first pack on, or as many as a thread may have.
  uint left() const { return WHOLE ? TILE_SIZE : frame.end - min(first, frame.end); }
  /// Whether there is anything to compute. Behind shifted rows there are zeros, and nothing that is
  /// made of them is written: to go without a branch lets the packs of a thread overlap.
  bool counts(uint v) const { return SHIFTED || exists(v); }
};

/// A thread's place in one of a row's tiles. Those of a 16-bit row that does not fill them are
/// equally long, in whole lines of memory: a short last one would leave its group idle, while the
/// others have as much to do as ever. On an H200, bf16 rows of 100000 to 152064 columns gain 2 to
/// 5 %; those of f32 would lose up to 1 % as often as they gain it.
METAL_FUNC TilePlace tile_place(uint tile, uint tiles, uint index, RowFrame frame) {
#if SHIFTED || WHOLE || VECTOR_WIDTH == 4
  return {tile * TILE_SIZE + first_column(index), frame};
#else
  const uint line = 8 * VECTOR_WIDTH, columns = ((frame.end - 1) / (tiles * line) + 1) * line;
  return {tile * columns + first_column(index), {0, min(frame.end, (tile + 1) * columns)}};
#endif
}

/// Of a pack's word, those of its elements below `end`.
METAL_FUNC uint bits_below(uint word, uint end) {
  const uint elements = end - min(word * Word<X_TYPE>::kElements, end);
  return elements == 0 ? 0 : elements < Word<X_TYPE>::kElements ? 0xffff : 0xffffffff;
}

/// The columns that a thread sums in the packs that it holds: of a shifted row, the first lane of a
/// run has columns of the run before, or none, in its first pack, and in the pack behind those that
/// end its own run. As bits, found once: a comparison for every element took half of the loop.
struct SummedColumns {
#if SHIFTED
  enum : uint { kWords = VECTOR_WIDTH / Word<X_TYPE>::kElements };

  uint first[kWords], behind[kWords];
  TilePlace place;

  void find(TilePlace of) {
    place = of;
    const bool holds_behind = place.holds(VECTORS_PER_THREAD);
    for (uint i = 0; i < kWords; ++i) {
      behind[i] = holds_behind ? bits_below(i, place.frame.begin) : 0;
      first[i] = ~behind[i];
    }
  }

  /// Zeros elsewhere.
  Tile<X_TYPE> of(Tile<X_TYPE> tile) const {
    keep(tile.packs[0], first);
    keep(tile.packs[VECTORS_PER_THREAD], behind);
    return tile;
  }

  /// The same for pack `v` of what was multiplied by weights, which may be infinite elsewhere.
  PackFloats of(PackFloats values, uint v) const {
    if (v > 0 && v < VECTORS_PER_THREAD) return values;
    for (uint i = 0; i < VECTOR_WIDTH; ++i) {
      const bool is_behind = place.holds(VECTORS_PER_THREAD) && i < place.frame.begin;
      if (is_behind != (v > 0)) values.at[i] = 0.0f;
    }
    return values;
  }

  static void keep(thread RowPack& pack, thread const uint* bits) {
#pragma unroll
    for (uint i = 0; i < kWords; ++i) pack.set_word(i, pack.word(i) & bits[i]);
  }
#else
  void find(TilePlace) {}
  Tile<X_TYPE> of(Tile<X_TYPE> tile) const { return tile; }
  PackFloats of(PackFloats values, uint) const { return values; }
#endif
};

/// One operand, as one thread sees it.
template <uint kStages>
struct TileRing {
  enum : uint { kPacks = kStages * STAGE_PACKS };

  threadgroup RowPack* packs;  // the thread's first

  /// `stages`: of all threads; `index`: of the thread in its group.
  static TileRing in(threadgroup RowPack* stages, uint index) {
    return {stages + first_column(index) / VECTOR_WIDTH + SHIFTED * (index / SIMD_WIDTH)};
  }

  threadgroup RowPack* at(uint step, uint v) const {
    return packs + step % kStages * STAGE_PACKS + v * (PACK_STEP / VECTOR_WIDTH);
  }

  /// `row`: where its frame begins.
  void start(uint step, device const X_TYPE* row, TilePlace place) const {
    const uint target = copy_target(at(step, 0));
    device const X_TYPE* const from = copy_source(row + place.first);
#pragma unroll
    for (uint v = 0; v < TILE_PACKS; ++v) {
      const uint ahead = v * PACK_STEP;
      if (place.has(v)) start_copy(target + ahead * sizeof(X_TYPE), from + ahead);
    }
  }

#if SHIFTED
  /// Packs behind the row, which nothing is copied to.
  void clear(TilePlace place) const {
    for (uint v = 0; v < TILE_PACKS; ++v) {
      if (!place.holds(v) || place.exists(v)) continue;
      for (uint step = 0; step < kStages; ++step) *at(step, v) = Tile<X_TYPE>::zeros();
    }
  }

  /// What lies behind the row in the pack that it ends in, once that is here.
  void clear_end(uint step, TilePlace place) const {
    const uint v = place.left() / PACK_STEP, left = place.left() % PACK_STEP;
    if (left == 0 || left >= VECTOR_WIDTH || v >= TILE_PACKS || !place.holds(v)) return;
    threadgroup RowPack* const pack = at(step, v);
    for (uint i = 0; i < VECTOR_WIDTH / Word<X_TYPE>::kElements; ++i) {
      pack->set_word(i, pack->word(i) & bits_below(i, left));
    }
  }
#else
  void clear(TilePlace) const {}
  void clear_end(uint, TilePlace) const {}
#endif

  Tile<X_TYPE> read(uint step, TilePlace place) const {
    Tile<X_TYPE> tile;
#pragma unroll
    for (uint v = 0; v < TILE_PACKS; ++v) {
      tile.packs[v].words[0] = at(step, place.holds(v) ? v : 0)->words[0];  // one access
    }
    return tile;
  }

  /// What will be written to memory: not the pack behind a run, which is another run's.
  void write(uint step, Tile<X_TYPE> tile) const {
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) at(step, v)->words[0] = tile.packs[v].words[0];
  }
};

/// An operand beside x: through the ring as well, unless its rows begin at other places in packs
/// than those of x or there is no room for it (APART). Then it is read from memory, each time.
template <typename Ring>
struct TileBeside {
  Ring ring;

  void start(uint step, device const X_TYPE* row, TilePlace place) const {
    if (!APART) ring.start(step, row, place);
  }
  void clear(TilePlace place) const {
    if (!APART) ring.clear(place);
  }
  void clear_end(uint step, TilePlace place) const {
    if (!APART) ring.clear_end(step, place);
  }

  Tile<X_TYPE> read(uint step, device const X_TYPE* row, TilePlace place) const {
#if APART
    Tile<X_TYPE> tile;
    tile.load(row, place.first, place.frame);
    tile.align(row, place.first, place.frame);
    tile.take_behind();
    return tile;
#else
    return ring.read(step, place);
#endif
  }
};

/// To an output whose rows begin where those of x do (ALIKE) or at other places in packs: both ways
/// in one kernel are more code than caches of instructions hold.
METAL_FUNC void store_tile(Tile<X_TYPE> tile, device X_TYPE* row, TilePlace place) {
  if (!SHIFTED) {
    tile.store(row + place.first, 0, {0, place.left()});  // distances known when compiled
  } else if (ALIKE) {
    tile.store_framed(row, place.first, place.frame);
  } else {
    tile.store(row, place.first, place.frame);
  }
}
