// SPDX-License-Identifier: MIT
// rms_norm for rows that are too long for one group (kernels/norm/rms_norm.metal says what it
// computes, and is its check). A row is cut into tiles, and all groups together go through the
// tiles of all rows in order, one tile each at a time. A group publishes its tile's sum of squares,
// loads and sums its next tile while the others publish theirs, and only then writes the first one:
// a row crosses the memory bus once, no group stands still, and a single row has as many groups as
// tiles. On an H200 rows of 32768 to 262144 columns reach 0.88 to 0.93 of the copy bandwidth; one
// group a row, which reads it twice, reached 0.72 (f32, 65536 columns) and 0.63 (262144).

#include "common/row_index.h"
#include "common/row_sum.h"
#include "common/tile.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#include "norm/weight.h"

/// A tile's place.
struct TileIndex {
  long row;
  uint tile;
};

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW), cooperative(GROUPS_PER_UNIT)]]
void rms_norm_long(
    device const X_TYPE* x [[buffer(kRmsNormX)]],
#if HAS_WEIGHT
    device const WEIGHT_TYPE* weight [[buffer(kRmsNormWeight)]],
#endif
#if HAS_RESIDUAL
    device const X_TYPE* residual [[buffer(kRmsNormResidual)]],
    device X_TYPE* sum [[buffer(kRmsNormSum)]],
#endif
#if HAS_SCALE
    device const X_TYPE* scale [[buffer(kRmsNormScale)]],
#endif
#if HAS_Y
    device X_TYPE* y [[buffer(kRmsNormY)]],
#endif
#if HAS_RMS_INV
    device float* rms_inv [[buffer(kRmsNormRmsInv)]],
#endif
    constant RmsNormParams& params [[buffer(kRmsNormParams)]],
    device SharedSum* sums [[buffer(kRmsNormLongSums)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#if !HAS_WEIGHT
  device const WEIGHT_TYPE* weight = nullptr;
#endif
#if !HAS_RESIDUAL
  device const X_TYPE* residual = nullptr;
  device X_TYPE* sum = nullptr;
#endif
#if !HAS_SCALE
  device const X_TYPE* scale = nullptr;
#endif
#if !HAS_Y
  device X_TYPE* y = nullptr;
#endif
#if !HAS_RMS_INV
  device float* rms_inv = nullptr;
#endif
  threadgroup float exchange[2 * EXCHANGE_SIZE], total_exchange[2 * EXCHANGE_SIZE];
  uint turn = 0;

  const uint dim = uint(params.dim), tiles = (dim - 1) / TILE_SIZE + 1;
  const float inverse_dim = 1.0f / float(params.dim);
  const long rows = row_count(params.rows);
  const uint own = index * VECTOR_WIDTH;  // of a tile's columns, the thread's first

  Tile<X_TYPE> s, addend, factor, before;
  Tile<WEIGHT_TYPE> w;
  TileIndex at = {group / tiles, group % tiles}, behind = at;
  bool exists = at.row < rows, waiting = false;
  while (exists || waiting) {
    const uint first = at.tile * TILE_SIZE + own, first_behind = behind.tile * TILE_SIZE + own;
    const RowIndex row = row_index(params.rows, at.row);
    const RowIndex row_behind = row_index(params.rows, behind.row);
    if (exists) s.load(x + row_offset(row, params.x), first, dim);
    if (exists && HAS_RESIDUAL) {
      addend.load(residual + row_offset(row, params.residual), first, dim);
    }
    if (waiting && HAS_WEIGHT) w.load(weight, first_behind, dim);
    if (waiting && HAS_SCALE) {
      factor.load(scale + row_offset(row_behind, params.scale), first_behind, dim);
    }

    if (exists) {
      float squares = 0.0f;
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        const uint column = first + v * PACK_STEP;
        if (column >= dim) break;
        if (HAS_RESIDUAL) {
          s.packs[v].set(add(s.packs[v].floats(), addend.packs[v].floats()));
          s.packs[v].store(sum + row_offset(row, params.sum) + column);
        }
        const PackFloats values = s.packs[v].floats();
        squares = add_products(values, values, squares);
      }
      squares = row_sum(squares, exchange + turn, index);
      if (index == 0) publish(sums + at.row * tiles + at.tile, squares);
    }

    if (waiting) {
      float squares = 0.0f;
      for (uint tile = index; tile < tiles; tile += THREADS_PER_ROW) {
        squares += await(sums + behind.row * tiles + tile);
      }
      squares = row_sum(squares, total_exchange + turn, index);
      const float r = rms_inv_of(squares, inverse_dim, params.eps);
      if (HAS_RMS_INV && first_behind == 0) rms_inv[row_offset(row_behind, params.rms_inv)] = r;
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        const uint column = first_behind + v * PACK_STEP;
        if (!HAS_Y || column >= dim) break;
        PackFloats values = multiply(before.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (ROUND_BEFORE_WEIGHT) {
          before.packs[v].set(values);
          values = before.packs[v].floats();
        }
        if (HAS_WEIGHT) values = multiply(values, weight_factors(w.packs[v]));
        if (HAS_SCALE) values = multiply(values, factor.packs[v].floats());
        store_floats(values, y + row_offset(row_behind, params.y) + column);
      }
    }

    turn = EXCHANGE_SIZE - turn;
    before = s;
    behind = at;
    waiting = exists;
    at.tile += groups % tiles;
    at.row += groups / tiles + (at.tile >= tiles ? 1 : 0);
    at.tile -= at.tile >= tiles ? tiles : 0;
    exists = at.row < rows;
  }
}
