// SPDX-License-Identifier: MIT
// CUDA only: tiles of rows on their way from device memory to threadgroup memory while threads work
// on the ones before, TILE_STAGES of an operand at a time: one that comes, one that is summed, and
// those that wait for the sums of their whole row. Copies take no registers, so that far more bytes
// are in flight than loads could keep there.
//
// Copies and stores move packs, which lie where addresses are multiples of their size. Where rows
// begin with one, a thread copies what it reads itself, and waits for nobody. A row that begins
// anywhere (SHIFTED) is copied with what surrounds it, one pack more, and goes back by way of
// threadgroup memory: columns belong to the same threads wherever a row begins, so that its sums
// have the same bits.
#pragma once

#include "common/tile.h"

typedef Pack<X_TYPE, VECTOR_WIDTH> RowPack;

#define STAGE_PACKS (VECTORS_PER_THREAD * THREADS_PER_ROW + SHIFTED)
/// Packs of one operand, all stages. After the rings comes the exit.
#define RING_PACKS (TILE_STAGES * STAGE_PACKS)

/// COPY_CACHE is the caches that a copy goes through: "ca" all, "cg" the last one alone.
METAL_FUNC void start_copy(threadgroup RowPack* to, device const X_TYPE* from) {
  asm volatile("{ .reg .u64 at; cvta.to.shared.u64 at, %0; cp.async." COPY_CACHE
               ".shared.global [at], [%1], 16; }"
               :
               : "l"(to), "l"(from)
               : "memory");
}

/// Before copies may overwrite a stage that other threads have read.
METAL_FUNC void begin_copies() {
#if SHIFTED
  threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
}

/// Ends the copies of one step, which may be none.
METAL_FUNC void end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }

/// Until the copies of all steps but the latest have arrived.
METAL_FUNC void await_copies() {
  asm volatile("cp.async.wait_group 1;" : : : "memory");
#if SHIFTED
  threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
}

/// Elements by which a row begins after a pack.
METAL_FUNC uint shift_of(device const X_TYPE* row) {
  return SHIFTED ? uint(reinterpret_cast<ulong>(row) / sizeof(X_TYPE) % VECTOR_WIDTH) : 0;
}

/// A pack from any element on, put together in registers: threadgroup memory has it in two accesses
/// without conflicts, where words one by one would have many.
METAL_FUNC RowPack read_anywhere(threadgroup const RowPack* packs, uint element) {
  const uint begin = element % VECTOR_WIDTH, whole = begin / RowPack::kElements;
  const uint4 first = packs[element / VECTOR_WIDTH].words[0];
  const uint4 second = packs[element / VECTOR_WIDTH + 1].words[0];
  uint words[7] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z};
  for (uint i = 0; i < 5; ++i) words[i] = (whole & 2) != 0 ? words[i + 2] : words[i];
  for (uint i = 0; i < 4; ++i) words[i] = (whole & 1) != 0 ? words[i + 1] : words[i];
  RowPack pack;
  pack.words[0] = uint4(words[0], words[1], words[2], words[3]);
  if (RowPack::kElements == 1) return pack;
  // Two elements a word: the last half comes from one more.
  const uint last = whole == 0 ? second.x : whole == 1 ? second.y : whole == 2 ? second.z : second.w;
  const uint bits = begin % 2 * 16;
  for (uint i = 0; i < 4; ++i) {
    const uint next = i < 3 ? words[i + 1] : last;
    pack.words[0][i] = uint((ulong(next) << 32 | words[i]) >> bits);
  }
  return pack;
}

/// A thread's columns of a tile: VECTORS_PER_THREAD packs, PACK_STEP apart.
struct TileColumns {
  uint first, dim;

  uint at(uint v) const { return first + v * PACK_STEP; }
  bool exist(uint v) const { return at(v) < dim; }
  bool whole(uint v) const { return !SHIFTED || at(v) + VECTOR_WIDTH <= dim; }
};

/// Weights and whatever else is no row of packs; zeros past the end.
template <typename T>
METAL_FUNC void load_columns(thread Tile<T>& tile, device const T* row, TileColumns columns) {
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    if (!columns.exist(v)) break;
    if (!SHIFTED) {
      tile.packs[v].load(row + columns.at(v));
      continue;
    }
    PackFloats values;
    for (uint i = 0; i < VECTOR_WIDTH; ++i) {
      const uint column = columns.at(v) + i;
      values.at[i] = column < columns.dim ? float(row[column]) : 0.0f;
    }
    tile.packs[v].set(values);
  }
}

/// Sums, one element at a time where rows begin anywhere.
METAL_FUNC void store_columns(PackFloats values, device float* row, TileColumns columns, uint v) {
  if (!SHIFTED) return store_floats(values, row + columns.at(v));
  for (uint i = 0; i < VECTOR_WIDTH; ++i) {
    if (columns.at(v) + i < columns.dim) row[columns.at(v) + i] = values.at[i];
  }
}

/// One operand, as one thread sees it.
struct TileRing {
  threadgroup RowPack* packs;  // the thread's first

  threadgroup RowPack* at(uint step, uint v) const {
    return packs + step % TILE_STAGES * STAGE_PACKS + v * THREADS_PER_ROW;
  }

  void start(uint step, device const X_TYPE* row, TileColumns columns) const {
    const uint shift = shift_of(row);
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      if (columns.at(v) < columns.dim + shift) {
        start_copy(at(step, v), row + columns.at(v) - shift);
      }
    }
    // The pack behind the tile's last one, by the last thread.
    const uint behind = columns.at(VECTORS_PER_THREAD - 1) + VECTOR_WIDTH;
    if (SHIFTED && behind % TILE_SIZE == 0 && behind < columns.dim + shift) {
      start_copy(at(step, VECTORS_PER_THREAD - 1) + 1, row + behind - shift);
    }
  }

  /// `row`: that the tile was copied from.
  PackFloats read(uint step, device const X_TYPE* row, TileColumns columns, uint v) const {
    RowPack pack;
    if (SHIFTED) {
      pack = read_anywhere(at(step, v), shift_of(row));
    } else {
      pack.words[0] = at(step, v)->words[0];  // one access
    }
    PackFloats values = pack.floats();
    if (columns.whole(v)) return values;
    for (uint i = 0; i < VECTOR_WIDTH; ++i) {
      if (columns.at(v) + i >= columns.dim) values.at[i] = 0.0f;
    }
    return values;
  }
};

/// Where a tile of results goes out, as one thread sees it. Rows that begin anywhere are put
/// together here first, after room for what lies ahead of them in their first pack.
struct TileExit {
  threadgroup RowPack* packs;  // the thread's first

  void put(PackFloats values, device X_TYPE* row, TileColumns columns, uint v) const {
    RowPack pack;
    pack.set(values);
    if (SHIFTED) {
      packs[1 + v * THREADS_PER_ROW].words[0] = pack.words[0];
    } else {
      pack.store(row + columns.at(v));
    }
  }

  /// After all columns were put there; before the next ones are, there must be a barrier.
  void finish(device X_TYPE* row, TileColumns columns) const {
#if SHIFTED
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int shift = int(shift_of(row));
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const int column = int(columns.at(v));
      store(packs + v * THREADS_PER_ROW, row + column - shift, shift, column % TILE_SIZE == 0 ? shift : 0,
            int(columns.dim) + shift - column);
    }
    // What reaches into the pack behind the tile.
    const int behind = int(columns.at(VECTORS_PER_THREAD - 1)) + VECTOR_WIDTH;
    if (behind % TILE_SIZE == 0) {
      store(packs + (VECTORS_PER_THREAD - 1) * THREADS_PER_ROW + 1, row + behind - shift, shift, 0,
            min(shift, int(columns.dim) + shift - behind));
    }
#endif
  }

  /// Elements from `begin` to `end` of a pack of memory. `from`: the pack here whose last `shift`
  /// elements come first in it.
  static void store(threadgroup const RowPack* from, device X_TYPE* to, int shift, int begin,
                    int end) {
    if (begin == 0 && end >= VECTOR_WIDTH) {
      read_anywhere(from, VECTOR_WIDTH - shift).store(to);
      return;
    }
    threadgroup const X_TYPE* elements =
        reinterpret_cast<threadgroup const X_TYPE*>(from) + (VECTOR_WIDTH - shift);
#pragma unroll 1
    for (int i = begin; i < min(end, VECTOR_WIDTH); ++i) to[i] = elements[i];
  }
};
