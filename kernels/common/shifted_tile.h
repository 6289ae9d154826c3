// SPDX-License-Identifier: MIT
// Tiles of rows that begin anywhere. A row's frame begins with the pack of memory that the row
// begins in: threads hold packs as memory has them, wherever a row begins, and columns that the
// frame shifts into the next pack belong to the next thread. Only sums follow the columns, so that
// they have the same bits anywhere (RowSum). An operand that does not lie as the frame does, such
// as weights, is put together from its own packs of memory (common/shifted.h).
//
// A SIMD-group holds a run of a tile, so that only the ends of the run have neighbours elsewhere.
// Nothing outside of the row is read or written. All lanes of a SIMD-group load, align, store and
// sum together.
#pragma once

#include "common/shifted.h"

/// From one of a thread's packs to the next, and a SIMD-group's part of a tile, in columns.
#define PACK_STEP (SIMD_WIDTH * VECTOR_WIDTH)
#define RUN_SIZE (VECTORS_PER_THREAD * PACK_STEP)

METAL_FUNC uint lane_of(uint column) { return column / VECTOR_WIDTH % SIMD_WIDTH; }
METAL_FUNC uint run_of(uint column) { return column - lane_of(column) * VECTOR_WIDTH; }

METAL_FUNC uint first_column(uint index) {
  const uint lane = index % SIMD_WIDTH;
  return ((index - lane) * VECTORS_PER_THREAD + lane) * VECTOR_WIDTH;
}

template <typename T>
METAL_FUNC RowFrame frame_of(device const T* row, uint dim) {
  const uint begin = dim > 0 ? shift_of(row) : 0;
  return {begin, begin + dim};
}

template <typename T>
struct Tile {
  typedef Pack<T, VECTOR_WIDTH> TilePack;
  typedef typename Word<T>::Bits Bits;
  typedef ShiftedPack<T> Shifted;
  enum : uint { kElements = Word<T>::kElements, kWords = VECTOR_WIDTH / kElements };

  TilePack packs[TILE_PACKS];  // the last is behind the run
  TilePack after;              // of memory, behind the run, of an operand that lies differently
  uint edge;                   // an element of packs that are not whole

  void load(device const T* row, uint column, RowFrame frame) {
    load(row, column, frame, shift_of(row));
  }
  /// Of the operand whose frame it is.
  void load_framed(device const T* row, uint column, RowFrame frame) {
    load(row, column, frame, 0);
  }

  void load(device const T* row, uint column, RowFrame frame, uint shift) {
    const RowFrame place = {frame.begin + shift, frame.end + shift};
    const uint run = run_of(column);
    row -= shift;
    device const T* const from = staying(row + column);
    if (run >= place.begin && run + RUN_SIZE <= place.end) {
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) packs[v].load(from + v * PACK_STEP);
    } else {
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        const uint at = column + v * PACK_STEP;
        packs[v] = zeros();
        if (at + VECTOR_WIDTH <= place.end && (v > 0 || at >= place.begin)) {
          packs[v].load(from + v * PACK_STEP);
        }
      }
    }
    if (shift > 0) {
      after = zeros();
      const bool whole = run + RUN_SIZE + VECTOR_WIDTH <= place.end;
      if (lane_of(column) == 0 && whole) after.load(row + run + RUN_SIZE);
    }
    load_edge(row, column, place, shift, frame.begin);
  }

  /// After load, of the same row: packs are those of the frame, with zeros outside of the row.
  void align(device const T* row, uint column, RowFrame frame) {
    const uint shift = shift_of(row);
    insert_edges(column, {frame.begin + shift, frame.end + shift});
    if (shift > 0) {
      const uint bits = shift % kElements * 16;
      WITH_WORDS(shift / kElements, kWords, to_frame, bits, lane_of(column))
    }
  }

  void align_framed(uint column, RowFrame frame) { insert_edges(column, frame); }

  /// What is summed with the run but lies behind it. After load.
  void take_behind() { packs[VECTORS_PER_THREAD] = edge_pack(2 * VECTOR_WIDTH); }

  /// The tile is still there afterwards.
  void store(device T* row, uint column, RowFrame frame) const {
    const uint shift = shift_of(row);
    Tile memory = *this;
    if (shift > 0) {
      const uint bits = shift % kElements * 16;
      WITH_WORDS(shift / kElements, kWords, memory.template to_memory, bits, lane_of(column))
    }
    memory.store_packs(row - shift, column, {frame.begin + shift, frame.end + shift}, shift);
  }
  /// To an operand that lies as the frame does.
  void store_framed(device T* row, uint column, RowFrame frame) const {
    store_packs(row, column, frame, 0);
  }

  template <uint kShift>
  void to_frame(uint bits, uint lane) {
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const TilePack next = v + 1 < VECTORS_PER_THREAD ? packs[v + 1] : after;
      packs[v] = Shifted::template of_row<kShift>(packs[v], next, bits, lane);
    }
  }

  template <uint kShift>
  void to_memory(uint bits, uint lane) {
    const TilePack last = packs[VECTORS_PER_THREAD - 1];
    after = Shifted::template of_memory<kShift>(last, last, bits, lane);
#pragma unroll
    for (uint v = VECTORS_PER_THREAD; v-- > 0;) {
      const TilePack previous = packs[v > 0 ? v - 1 : 0];
      packs[v] = Shifted::template of_memory<kShift>(packs[v], previous, bits, lane);
    }
  }

  /// Packs that are not whole are requested together with all the rest: each of the first lanes has
  /// an element of that which the row begins in, of the next ones an element of that which it ends
  /// in, and then of what lies behind the run.
  void load_edge(device const T* row, uint column, RowFrame place, uint shift, uint begin) {
    const uint lane = lane_of(column), run = run_of(column), last = pack_of(place.end);
    uint at = pack_of(place.begin) + lane;
    bool held = run == 0;
    if (lane >= VECTOR_WIDTH) {
      at = last + lane - VECTOR_WIDTH;
      held = last - run <= RUN_SIZE;
    }
    if (lane >= 2 * VECTOR_WIDTH) {
      at = run + RUN_SIZE + shift + lane - 2 * VECTOR_WIDTH;
      held = lane < 2 * VECTOR_WIDTH + begin;
    }
    edge = 0;
    if (held && at >= place.begin && at < place.end) {
      edge = reinterpret_cast<device const Bits*>(row)[at];
    }
  }

  void insert_edges(uint column, RowFrame place) {
    const uint run = run_of(column), last = pack_of(place.end);
    if (run == 0) {
      const TilePack pack = edge_pack(0);
      if (column == pack_of(place.begin)) packs[0] = pack;
    }
    if (last - run <= RUN_SIZE) {
      const TilePack pack = edge_pack(VECTOR_WIDTH);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (column + v * PACK_STEP == last) packs[v] = pack;
      }
      if (run + RUN_SIZE == last) after = pack;
    }
  }

  TilePack edge_pack(uint lane) const {
    const uint word = kElements == 1 ? edge : edge | simd_shuffle_down(edge, 1) << 16;
    TilePack pack;
#pragma unroll
    for (uint i = 0; i < kWords; ++i) {
      pack.set_word(i, simd_shuffle(word, ushort(lane + i * kElements)));
    }
    return pack;
  }

  void store_packs(device T* row, uint column, RowFrame place, uint shift) const {
    const uint run = run_of(column);
    // Counted in packs: NVRTC makes four stores of the first one otherwise.
    device TilePack* const to = reinterpret_cast<device TilePack*>(row) + column / VECTOR_WIDTH;
    if (shift == 0 && run >= place.begin && run + RUN_SIZE <= place.end) {
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) to[v * SIMD_WIDTH] = packs[v];
      return;
    }
    // A lane has one pack at most that ends with the row or the run, beside its first.
    const bool first = column == run;
    TilePack part = after;
    uint part_at = run + RUN_SIZE, part_end = first ? min(part_at + shift, place.end) : 0;
    const uint begin = first ? max(place.begin, run + shift) : place.begin;
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const uint at = column + v * PACK_STEP;
      if (v == 0 && at < begin) {
        store_elements(packs[v], row, at, begin, place.end);
      } else if (at + VECTOR_WIDTH <= place.end) {
        to[v * SIMD_WIDTH] = packs[v];
      } else if (at < place.end) {
        part = packs[v];
        part_at = at;
        part_end = place.end;
      }
    }
    store_elements(part, row, part_at, part_at, part_end);
  }

  /// Those of the pack at `at` from `begin` to `end`.
  static void store_elements(TilePack pack, device T* row, uint at, uint begin, uint end) {
#pragma unroll
    for (uint i = 0; i < VECTOR_WIDTH; ++i) {
      if (at + i < begin || at + i >= end) continue;
      reinterpret_cast<device Bits*>(row)[at + i] =
          Bits(pack.word(i / kElements) >> i % kElements * 16);
    }
  }

  static uint pack_of(uint at) { return at / VECTOR_WIDTH * VECTOR_WIDTH; }

  static TilePack zeros() {
    TilePack pack;
    for (uint i = 0; i < kWords; ++i) pack.set_word(i, 0);
    return pack;
  }
};

/// A thread's sum of products over its columns: one for each place in a pack, which the frame
/// shifts. What the first lane has of the columns of the run before is left to that run, which has
/// it behind.
struct RowSum {
  Pack<float, VECTOR_WIDTH> places;
  float sum;

  void begin() {
    places.set(splat<VECTOR_WIDTH>(0.0f));
    sum = 0.0f;
  }

  void add(uint v, PackFloats a, PackFloats b, uint column, RowFrame frame) {
    PackFloats sums = places.floats();
    const PackFloats more = multiply_add(a, b, sums);
    const bool first = lane_of(column) == 0;
    for (uint i = 0; i < VECTOR_WIDTH; ++i) {
      const bool shifted = first && i < frame.begin;
      if (v == 0) {
        sums.at[i] = shifted ? 0.0f : more.at[i];
      } else if (v < VECTORS_PER_THREAD || shifted) {
        sums.at[i] = more.at[i];
      }
    }
    places.set(sums);
  }

  /// Of a pack without columns of other runs.
  void add(PackFloats a, PackFloats b) { places.set(multiply_add(a, b, places.floats())); }

  /// After all packs of a tile. Columns that the frame shifts into the next lane come back. Places
  /// keep theirs: halves meet whichever of them the row begins in, so that the order of a sum
  /// follows from the columns.
  void end_tile(uint, RowFrame frame) {
    PackFloats sums = places.floats();
#pragma unroll
    for (uint i = 0; i + 1 < VECTOR_WIDTH; ++i) {
      const float next = simd_shuffle_rotate_down(sums.at[i], 1);
      if (i < frame.begin) sums.at[i] = next;
    }
#pragma unroll
    for (uint half = VECTOR_WIDTH / 2; half > 0; half /= 2) {
      for (uint i = 0; i < half; ++i) sums.at[i] += sums.at[i + half];
    }
    sum += sums.at[0];
    places.set(splat<VECTOR_WIDTH>(0.0f));
  }
};
