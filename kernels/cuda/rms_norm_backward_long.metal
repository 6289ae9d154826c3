// SPDX-License-Identifier: MIT
// rms_norm_backward for rows that one group cannot hold, or would hold with many threads idle
// (kernels/norm/rms_norm_backward.metal says what it computes, and is its check). A row is cut into
// tiles. A group keeps to one tile of its columns, with its weights and its sums of dw in registers,
// and goes down the rows. Its next tile is on its way (tile_ring.h) while it sums this one and
// publishes the sums; what it writes is the tile before, whose sums all groups of the row have
// published meanwhile. x and dy cross the memory bus once.
//
// On an H200, rows of 12288 to 262144 columns reach 0.96 to 0.99 (f32) and 0.91 to 0.95 (bf16) of
// the copy bandwidth. With the tiles in registers it was 0.84 to 0.92 and 0.71 to 0.78; one group a
// row, which cannot hold it, reached 0.55 at 16384. Rows that begin anywhere reach 0.5 to 0.66.

#include "common/lane_sum.h"
#include "common/row_index.h"
#include "common/row_sum.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#include "norm/weight.h"

#define TILE_STAGES kRmsNormBackwardLongStages
#define COPY_CACHE "cg"
#include "cuda/tile_ring.h"

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW), cooperative(GROUPS_PER_UNIT)]]
void rms_norm_backward_long(
    device const X_TYPE* x [[buffer(kRmsNormBackwardX)]],
#if HAS_WEIGHT
    device const WEIGHT_TYPE* weight [[buffer(kRmsNormBackwardWeight)]],
#endif
    device const X_TYPE* dy [[buffer(kRmsNormBackwardDy)]],
#if HAS_RMS_INV
    device const float* rms_inv [[buffer(kRmsNormBackwardRmsInv)]],
#endif
#if HAS_DRESIDUAL
    device const X_TYPE* dresidual [[buffer(kRmsNormBackwardDresidual)]],
#endif
#if HAS_DX
    device X_TYPE* dx [[buffer(kRmsNormBackwardDx)]],
#endif
#if HAS_DW
    device float* dw_partial [[buffer(kRmsNormBackwardDwPartial)]],
#endif
    constant RmsNormBackwardParams& params [[buffer(kRmsNormBackwardParams)]],
    device SharedSum* sums [[buffer(kRmsNormBackwardLongSums)]],
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#if !HAS_WEIGHT
  device const WEIGHT_TYPE* weight = nullptr;
#endif
#if !HAS_RMS_INV
  device const float* rms_inv = nullptr;
#endif
#if !HAS_DRESIDUAL
  device const X_TYPE* dresidual = nullptr;
#endif
#if !HAS_DX
  device X_TYPE* dx = nullptr;
#endif
#if !HAS_DW
  device float* dw_partial = nullptr;
#endif
  threadgroup float2 exchange[2 * EXCHANGE_SIZE];
  const uint tiles = uint((params.dim - 1) / TILE_SIZE) + 1, tile = group % tiles;
  const float inverse_dim = 1.0f / float(params.dim);
  const long rows = row_count(params.rows), stride = groups / tiles, begin = group / tiles;
  const uint steps = begin < rows ? uint((rows - begin - 1) / stride + 1) : 0;
  const TileColumns columns = {tile * TILE_SIZE + index * VECTOR_WIDTH, uint(params.dim)};

  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) load_columns(w, weight, columns);
  PackFloats dw[VECTORS_PER_THREAD];
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) dw[v] = splat<VECTOR_WIDTH>(0.0f);

  const TileRing xs = {stages + index}, dys = {stages + RING_PACKS + index};
  const TileExit exit = {stages + 2 * RING_PACKS + index};
  for (uint step = 0; step < steps + TILE_STAGES - 1; ++step) {
    begin_copies();
    if (step < steps) {
      const RowIndex at = row_index(params.rows, begin + step * stride);
      xs.start(step, x + row_offset(at, params.x), columns);
      dys.start(step, dy + row_offset(at, params.dy), columns);
    }
    end_copies();
    if (step == 0) continue;

    const uint now = step - 1, behind = step - (TILE_STAGES - 1);
    const bool waiting = step >= TILE_STAGES - 1;
    const long row_behind = begin + behind * stride;
    const RowIndex at_behind = row_index(params.rows, row_behind);
    Tile<X_TYPE> bypass;
    if (HAS_DRESIDUAL && waiting) {
      load_columns(bypass, dresidual + row_offset(at_behind, params.dresidual), columns);
    }

    if (now < steps) {
      const RowIndex at = row_index(params.rows, begin + now * stride);
      device const X_TYPE* x_row = x + row_offset(at, params.x);
      device const X_TYPE* dy_row = dy + row_offset(at, params.dy);
      await_copies();
      float2 tile_sums = float2(0.0f);  // of x^2 and of dy * w * x
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!columns.exist(v)) break;
        const PackFloats values = xs.read(now, x_row, columns, v);
        PackFloats wdy = dys.read(now, dy_row, columns, v);
        if (HAS_WEIGHT) wdy = multiply(wdy, weight_factors(w.packs[v]));
        if (!HAS_RMS_INV) tile_sums.x = add_products(values, values, tile_sums.x);
        tile_sums.y = add_products(wdy, values, tile_sums.y);
      }
      tile_sums = row_sum(tile_sums, exchange + now % 2 * EXCHANGE_SIZE, index);
      if (index == 0) publish(sums + ((begin + now * stride) * tiles + tile) * 2, tile_sums);
    }

    if (waiting) {
      float2 row_sums = float2(0.0f);
      for (uint part = index % SIMD_WIDTH; part < tiles; part += SIMD_WIDTH) {
        row_sums += await_pair(sums + (row_behind * tiles + part) * 2);
      }
      row_sums = lane_sum<SIMD_WIDTH>(row_sums);
      const float r = HAS_RMS_INV ? rms_inv[row_offset(at_behind, params.rms_inv)]
                                  : rms_inv_of(row_sums.x, inverse_dim, params.eps);
      const float x_factor = -(row_sums.y * inverse_dim * r * (r * r));
      device const X_TYPE* x_row = x + row_offset(at_behind, params.x);
      device const X_TYPE* dy_row = dy + row_offset(at_behind, params.dy);
      device X_TYPE* dx_row = dx + row_offset(at_behind, params.dx);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!columns.exist(v)) break;
        const PackFloats values = xs.read(behind, x_row, columns, v);
        const PackFloats dyr =
            multiply(dys.read(behind, dy_row, columns, v), splat<VECTOR_WIDTH>(r));
        if (HAS_DW) dw[v] = multiply_add(dyr, values, dw[v]);
        if (HAS_DX) {
          PackFloats rest = HAS_DRESIDUAL ? bypass.packs[v].floats() : splat<VECTOR_WIDTH>(-0.0f);
          rest = multiply_add(values, splat<VECTOR_WIDTH>(x_factor), rest);
          const PackFloats factors =
              HAS_WEIGHT ? weight_factors(w.packs[v]) : splat<VECTOR_WIDTH>(1.0f);
          exit.put(multiply_add(dyr, factors, rest), dx_row, columns, v);
        }
      }
      if (HAS_DX) exit.finish(dx_row, columns);
    }
  }

  dw_partial += begin * params.dim;
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    if (HAS_DW && columns.exist(v)) store_columns(dw[v], dw_partial, columns, v);
  }
}
