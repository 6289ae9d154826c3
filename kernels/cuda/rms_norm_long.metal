// SPDX-License-Identifier: MIT
// rms_norm for rows that are too long for one group (kernels/norm/rms_norm.metal says what it
// computes, and is its check). A row is cut into tiles. A group keeps to one tile of its columns,
// with its weights in registers, and goes down the rows. Its next tile is on its way (tile_ring.h)
// while it sums this one and publishes the sum; what it writes is a tile from before, whose sums
// all groups of the row have published meanwhile. A row crosses the memory bus once.
//
// On an H200, rows of 256 KiB and more reach 0.89 to 0.93 of the copy bandwidth. One group a row,
// which reads it twice, reached 0.72 (f32, 65536 columns) and 0.63 (262144). Rows that begin
// anywhere reach 0.75 to 0.83.

#include "common/lane_sum.h"
#include "common/row_index.h"
#include "common/row_sum.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#include "norm/weight.h"

#define TILE_STAGES kRmsNormLongStages
#define COPY_CACHE "ca"
#include "cuda/tile_ring.h"

#define SUM_IS_LATE (SHIFTED || APART)

/// x + residual, rounded as it is written.
METAL_FUNC Tile<X_TYPE> summed(Tile<X_TYPE> tile, Tile<X_TYPE> residual) {
#pragma unroll
  for (uint v = 0; v < TILE_PACKS; ++v) {
    tile.packs[v].set(add(tile.packs[v].floats(), residual.packs[v].floats()));
  }
  return tile;
}

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW), cooperative(GROUPS_PER_UNIT)]]
void rms_norm_long(
#include "norm/rms_norm_operands.h"
    device SharedSum* sums [[buffer(kRmsNormLongSums)]],
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_absent.h"
  threadgroup float exchange[2 * EXCHANGE_SIZE];
  const uint tiles = TILES_OF(params.dim), tile = group % tiles;
  const long rows = row_count(params.rows), stride = groups / tiles, begin = group / tiles;
  const uint steps = begin < rows ? uint((rows - begin - 1) / stride + 1) : 0;
  const RowFrame frame =
      frame_of(x + row_offset(row_index(params.rows, begin), params.x), uint(params.dim));
  const TilePlace place = {tile * TILE_SIZE + first_column(index), frame};
  x -= frame.begin;
  weight -= frame.begin;
  residual -= frame.begin;
  scale -= frame.begin;
  sum -= frame.begin;
  y -= frame.begin;
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) {
    w.load(weight, place.first, frame);
    w.align(weight, place.first, frame);
  }

  const TileRing xs = tile_ring(stages, index);
  const TileBeside residuals = {tile_ring(stages + RING_PACKS, index)};
  for (uint step = 0; step < steps + TILE_STAGES - 1; ++step) {
    if (step < steps) {
      const RowIndex at = row_index(params.rows, begin + step * stride);
      xs.start(step, x + row_offset(at, params.x), place);
      if (HAS_RESIDUAL) residuals.start(step, residual + row_offset(at, params.residual), place);
    }
    end_copies();
    if (step == 0) continue;

    const uint now = step - 1, behind = step - (TILE_STAGES - 1);
    const bool waiting = step >= TILE_STAGES - 1;
    const long row_behind = begin + behind * stride;
    const RowIndex at_behind = row_index(params.rows, row_behind);
    device const X_TYPE* scale_row = scale + row_offset(at_behind, params.scale);
    Tile<X_TYPE> factor;
    if (HAS_SCALE && waiting) factor.load(scale_row, place.first, frame);

    if (now < steps) {
      const RowIndex at = row_index(params.rows, begin + now * stride);
      await_copies<1>();
      Tile<X_TYPE> s = xs.read(now, place);
      if (HAS_RESIDUAL) {
        device const X_TYPE* residual_row = residual + row_offset(at, params.residual);
        s = summed(s, residuals.read(now, residual_row, place));
      }
      if (HAS_RESIDUAL && !SUM_IS_LATE) {
        s.store(sum + row_offset(at, params.sum), place.first, frame);
      }
      RowSum squares;
      squares.begin();
#pragma unroll
      for (uint v = 0; v < TILE_PACKS; ++v) {
        if (!place.exists(v)) break;
        const PackFloats values = place.of(s.packs[v], v);
        squares.add(v, values, values, place.first, frame);
      }
      squares.end_tile(place.first, frame);
      const float tile_sum =
          row_sum(squares.sum, exchange + now % 2 * EXCHANGE_SIZE, index);
      if (index == 0) publish(sums + (begin + now * stride) * tiles + tile, tile_sum);
    }

    if (waiting) {
      float squares = 0.0f;
      for (uint part = index % SIMD_WIDTH; part < tiles; part += SIMD_WIDTH) {
        squares += await(sums + row_behind * tiles + part);
      }
      const float r = rms_inv_of(lane_sum<SIMD_WIDTH>(squares), params.inverse_dim, params.eps);
      if (HAS_RMS_INV && place.first == 0) rms_inv[row_offset(at_behind, params.rms_inv)] = r;
      Tile<X_TYPE> s = xs.read(behind, place);
      if (HAS_RESIDUAL) {
        device const X_TYPE* residual_row = residual + row_offset(at_behind, params.residual);
        s = summed(s, residuals.read(behind, residual_row, place));
      }
      // It may go where other groups read what lies behind their run, which have published, and
      // where this one has just read the residual again.
      if (HAS_RESIDUAL && SUM_IS_LATE) {
        s.store(sum + row_offset(at_behind, params.sum), place.first, frame);
      }
      if (HAS_SCALE) factor.align(scale_row, place.first, frame);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!HAS_Y || !place.exists(v)) break;
        PackFloats values = multiply(s.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (ROUND_BEFORE_WEIGHT) {
          RowPack rounded;
          rounded.set(values);
          values = rounded.floats();
        }
        if (HAS_WEIGHT) values = multiply(values, weight_factors(w.packs[v]));
        if (HAS_SCALE) values = multiply(values, factor.packs[v].floats());
        s.packs[v].set(values);
      }
      if (HAS_Y) s.store(y + row_offset(at_behind, params.y), place.first, frame);
    }
  }
}
