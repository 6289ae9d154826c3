// SPDX-License-Identifier: MIT
// rms_norm_backward for rows that are too long for one group (kernels/norm/rms_norm_backward.metal
// says what it computes, and is its check). A row is cut into tiles. A group keeps to one tile of
// its columns, with its weights and its sums of dw in registers, and goes down the rows. It
// publishes its tile's sums, loads and sums the tile of its next row while the other groups of the
// row publish theirs, and only then writes dx of the first: x and dy cross the memory bus once. On
// an H200 rows of 16384 to 262144 columns reach 0.84 to 0.92 (f32) and 0.71 to 0.78 (bf16) of the
// copy bandwidth; one group a row, whose threads cannot hold it, reached 0.55 at 16384.

#include "common/row_index.h"
#include "common/row_sum.h"
#include "common/tile.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#include "norm/weight.h"

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
  threadgroup float2 exchange[2 * EXCHANGE_SIZE], total_exchange[2 * EXCHANGE_SIZE];
  uint turn = 0;

  const uint dim = uint(params.dim), tiles = (dim - 1) / TILE_SIZE + 1;
  const float inverse_dim = 1.0f / float(params.dim);
  const long rows = row_count(params.rows), stride = groups / tiles;
  const uint tile = group % tiles, first = tile * TILE_SIZE + index * VECTOR_WIDTH;

  Tile<X_TYPE> xs, dys, xs_before, dys_before, bypass;
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) w.load(weight, first, dim);
  PackFloats dw[VECTORS_PER_THREAD];
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) dw[v] = splat<VECTOR_WIDTH>(0.0f);

  long row = group / tiles;
  bool exists = row < rows, waiting = false;
  while (exists || waiting) {
    const RowIndex at = row_index(params.rows, row);
    const RowIndex at_behind = row_index(params.rows, row - stride);
    if (exists) {
      xs.load(x + row_offset(at, params.x), first, dim);
      dys.load(dy + row_offset(at, params.dy), first, dim);
    }
    if (waiting && HAS_DRESIDUAL) {
      bypass.load(dresidual + row_offset(at_behind, params.dresidual), first, dim);
    }

    if (exists) {
      float2 tile_sums = float2(0.0f);  // of x^2 and of dy * w * x
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (first + v * PACK_STEP >= dim) break;
        const PackFloats values = xs.packs[v].floats();
        PackFloats wdy = dys.packs[v].floats();
        if (HAS_WEIGHT) wdy = multiply(wdy, weight_factors(w.packs[v]));
        if (!HAS_RMS_INV) tile_sums.x = add_products(values, values, tile_sums.x);
        tile_sums.y = add_products(wdy, values, tile_sums.y);
      }
      tile_sums = row_sum(tile_sums, exchange + turn, index);
      device SharedSum* to = sums + (row * tiles + tile) * 2;
      if (index == 0) publish(to, tile_sums.x);
      if (index == 0) publish(to + 1, tile_sums.y);
    }

    if (waiting) {
      float2 row_sums = float2(0.0f);
      for (uint other = index; other < tiles; other += THREADS_PER_ROW) {
        device const SharedSum* from = sums + ((row - stride) * tiles + other) * 2;
        row_sums += float2(await(from), await(from + 1));
      }
      row_sums = row_sum(row_sums, total_exchange + turn, index);
      const float r = HAS_RMS_INV ? rms_inv[row_offset(at_behind, params.rms_inv)]
                                  : rms_inv_of(row_sums.x, inverse_dim, params.eps);
      const float x_factor = -(row_sums.y * inverse_dim * r * (r * r));
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        const uint column = first + v * PACK_STEP;
        if (column >= dim) break;
        const PackFloats values = xs_before.packs[v].floats();
        const PackFloats dyr = multiply(dys_before.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (HAS_DW) dw[v] = multiply_add(dyr, values, dw[v]);
        if (HAS_DX) {
          PackFloats rest = HAS_DRESIDUAL ? bypass.packs[v].floats() : splat<VECTOR_WIDTH>(-0.0f);
          rest = multiply_add(values, splat<VECTOR_WIDTH>(x_factor), rest);
          const PackFloats factors =
              HAS_WEIGHT ? weight_factors(w.packs[v]) : splat<VECTOR_WIDTH>(1.0f);
          store_floats(multiply_add(dyr, factors, rest),
                       dx + row_offset(at_behind, params.dx) + column);
        }
      }
    }

    turn = EXCHANGE_SIZE - turn;
    xs_before = xs;
    dys_before = dys;
    waiting = exists;
    row += stride;
    exists = row < rows;
  }

  dw_partial += group / tiles * params.dim;
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (HAS_DW && column < dim) store_floats(dw[v], dw_partial + column);
  }
}
