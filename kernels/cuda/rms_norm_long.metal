// SPDX-License-Identifier: MIT
// rms_norm for rows that are too long for one group (kernels/norm/rms_norm.metal says what it
// computes, and is its check). A row is cut into tiles. A group keeps to one tile of its columns,
// with its weights in registers, and goes down the rows. Its next tile is on its way (tile_ring.h)
// while it sums this one and publishes the sum; what it writes is a tile from before, whose sums
// all groups of the row have published meanwhile. A row crosses the memory bus once.
//
// On an H200, rows of more than 64 KiB reach 0.88 to 0.94 of the copy bandwidth. One group a row,
// which reads it twice, reached 0.72 (f32, 65536 columns) and 0.63 (262144). Rows that begin
// anywhere reach 0.5 (bf16) to 0.7.

#include "common/lane_sum.h"
#include "common/row_index.h"
#include "common/row_sum.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#include "norm/weight.h"

#define TILE_STAGES kRmsNormLongStages
#define COPY_CACHE "ca"
#include "cuda/tile_ring.h"

/// x + residual, rounded as it is written.
METAL_FUNC PackFloats summed(PackFloats values, PackFloats residual) {
  RowPack sum;
  sum.set(add(values, residual));
  return sum.floats();
}

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
    threadgroup RowPack* stages [[threadgroup(0)]],
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
  threadgroup float exchange[2 * EXCHANGE_SIZE];
  const uint tiles = uint((params.dim - 1) / TILE_SIZE) + 1, tile = group % tiles;
  const long rows = row_count(params.rows), stride = groups / tiles, begin = group / tiles;
  const uint steps = begin < rows ? uint((rows - begin - 1) / stride + 1) : 0;
  const TileColumns columns = {tile * TILE_SIZE + index * VECTOR_WIDTH, uint(params.dim)};
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) load_columns(w, weight, columns);

  const TileRing xs = {stages + index}, residuals = {stages + RING_PACKS + index};
  const TileExit exit = {stages + (HAS_RESIDUAL ? 2 : 1) * RING_PACKS + index};
  for (uint step = 0; step < steps + TILE_STAGES - 1; ++step) {
    begin_copies();
    if (step < steps) {
      const RowIndex at = row_index(params.rows, begin + step * stride);
      xs.start(step, x + row_offset(at, params.x), columns);
      if (HAS_RESIDUAL) residuals.start(step, residual + row_offset(at, params.residual), columns);
    }
    end_copies();
    if (step == 0) continue;

    const uint now = step - 1, behind = step - (TILE_STAGES - 1);
    const bool waiting = step >= TILE_STAGES - 1;
    const long row_behind = begin + behind * stride;
    const RowIndex at_behind = row_index(params.rows, row_behind);
    Tile<X_TYPE> factor;
    if (HAS_SCALE && waiting) {
      load_columns(factor, scale + row_offset(at_behind, params.scale), columns);
    }

    if (now < steps) {
      const RowIndex at = row_index(params.rows, begin + now * stride);
      device const X_TYPE* x_row = x + row_offset(at, params.x);
      device const X_TYPE* residual_row = residual + row_offset(at, params.residual);
      device X_TYPE* sum_row = sum + row_offset(at, params.sum);
      await_copies();
      float squares = 0.0f;
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!columns.exist(v)) break;
        PackFloats s = xs.read(now, x_row, columns, v);
        if (HAS_RESIDUAL) {
          s = summed(s, residuals.read(now, residual_row, columns, v));
          exit.put(s, sum_row, columns, v);
        }
        squares = add_products(s, s, squares);
      }
      if (HAS_RESIDUAL) exit.finish(sum_row, columns);
      squares = row_sum(squares, exchange + now % 2 * EXCHANGE_SIZE, index);
      if (index == 0) publish(sums + (begin + now * stride) * tiles + tile, squares);
    }

    if (waiting) {
      float squares = 0.0f;
      for (uint part = index % SIMD_WIDTH; part < tiles; part += SIMD_WIDTH) {
        squares += await(sums + row_behind * tiles + part);
      }
      const float r = rms_inv_of(lane_sum<SIMD_WIDTH>(squares), params.inverse_dim, params.eps);
      if (HAS_RMS_INV && columns.first == 0) rms_inv[row_offset(at_behind, params.rms_inv)] = r;
      device const X_TYPE* x_row = x + row_offset(at_behind, params.x);
      device const X_TYPE* residual_row = residual + row_offset(at_behind, params.residual);
      device X_TYPE* y_row = y + row_offset(at_behind, params.y);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!HAS_Y || !columns.exist(v)) break;
        PackFloats values = xs.read(behind, x_row, columns, v);
        if (HAS_RESIDUAL) {
          values = summed(values, residuals.read(behind, residual_row, columns, v));
        }
        values = multiply(values, splat<VECTOR_WIDTH>(r));
        if (ROUND_BEFORE_WEIGHT) {
          RowPack rounded;
          rounded.set(values);
          values = rounded.floats();
        }
        if (HAS_WEIGHT) values = multiply(values, weight_factors(w.packs[v]));
        if (HAS_SCALE) values = multiply(values, factor.packs[v].floats());
        exit.put(values, y_row, columns, v);
      }
      if (HAS_Y) exit.finish(y_row, columns);
    }
  }
}
