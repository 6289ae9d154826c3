// SPDX-License-Identifier: MIT
// Gradients of rms_norm:
//
//   dx = r * (dy * w - x * s * r^2 / dim) [+ dresidual]       s = sum(dy * x * w)
//   dw_partial[group] = sum of dy * x * r over the group's rows, in a fixed order
//
// A group takes ROWS_PER_GROUP neighbouring rows, then rows that lie as many further on as all
// groups together take, so that groups which run at the same time read neighbouring memory. It
// keeps its weights and its sums of dw in registers from row to row. A row that fits one tile is
// read once, and the next one is requested before this one's threads wait for each other:
// 3 * dim elements a row, and 4 bytes * dim for each partial. A longer row (LOOPED) is read twice
// and adds to its partial in memory, both mostly in the cache.

#include "common/row_index.h"
#include "common/row_sum.h"
#include "common/tile.h"
#include "norm/params.h"
#include "norm/weight.h"

#define SHARED_DW (HAS_DW && ROWS_PER_GROUP > 1)

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW * ROWS_PER_GROUP)]]
void rms_norm_backward(
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
  // Two exchanges take turns, so that one barrier a row is enough.
  threadgroup float2 exchange[2 * EXCHANGE_SIZE];
  uint turn = 0;

  const long rows = row_count(params.rows);
  const long stride = long(groups) * ROWS_PER_GROUP;
  const long begin = long(group) * ROWS_PER_GROUP;
  const uint first = index % THREADS_PER_ROW * VECTOR_WIDTH;
  const float inverse_dim = 1.0f / float(params.dim);
  dw_partial += group * params.dim;

  Tile<X_TYPE> xs, dys, bypass, next_xs, next_dys;
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT && !LOOPED) w.load(weight, first, uint(params.dim));
  PackFloats dw[VECTORS_PER_THREAD];
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) dw[v] = splat<VECTOR_WIDTH>(0.0f);

  // Threads of a row past the last one have no columns.
  RowIndex at = row_index(params.rows, begin + index / THREADS_PER_ROW);
  uint dim = begin + index / THREADS_PER_ROW < rows ? uint(params.dim) : 0;
  if (!LOOPED) {
    next_xs.load(x + row_offset(at, params.x), first, dim);
    next_dys.load(dy + row_offset(at, params.dy), first, dim);
  }
  for (long together = begin; together < rows; together += stride) {
    device const X_TYPE* x_row = x + row_offset(at, params.x);
    device const X_TYPE* dy_row = dy + row_offset(at, params.dy);
    device const X_TYPE* dresidual_row = dresidual + row_offset(at, params.dresidual);
    device X_TYPE* dx_row = dx + row_offset(at, params.dx);
    const long rms_inv_at = row_offset(at, params.rms_inv);
    const uint row_dim = dim;
    const uint row_end = LOOPED ? row_dim : TILE_SIZE;

    const long next = together + stride + index / THREADS_PER_ROW;
    at = row_index(params.rows, next);
    dim = next < rows ? uint(params.dim) : 0;
    if (!LOOPED) {
      xs = next_xs;
      dys = next_dys;
      next_xs.load(x + row_offset(at, params.x), first, dim);
      next_dys.load(dy + row_offset(at, params.dy), first, dim);
    }

    float r = HAS_RMS_INV && row_dim > 0 ? rms_inv[rms_inv_at] : 0.0f;
    float2 sums = float2(0.0f);  // of x^2 and of dy * w * x
    for (uint tile = first; tile < row_end; tile += TILE_SIZE) {
      if (LOOPED) {
        xs.load(x_row, tile, row_dim);
        dys.load(dy_row, tile, row_dim);
      } else if (HAS_DRESIDUAL) {
        bypass.load(dresidual_row, tile, row_dim);
      }
      if (HAS_WEIGHT && LOOPED) w.load(weight, tile, row_dim);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (tile + v * PACK_STEP >= row_dim) break;
        const PackFloats values = xs.packs[v].floats();
        PackFloats wdy = dys.packs[v].floats();
        if (HAS_WEIGHT) wdy = multiply(wdy, weight_factors(w.packs[v]));
        if (!HAS_RMS_INV) sums.x = add_products(values, values, sums.x);
        sums.y = add_products(wdy, values, sums.y);
      }
    }
    if (HAS_DX || !HAS_RMS_INV) {
      sums = row_sum(sums, exchange + turn, index);
      turn = EXCHANGE_SIZE - turn;
    }
    if (!HAS_RMS_INV) r = rms_inv_of(sums.x, inverse_dim, params.eps);
    const float x_factor = -(sums.y * inverse_dim * r * (r * r));

    for (uint tile = first; tile < row_end; tile += TILE_SIZE) {
      if (LOOPED) {
        xs.load(x_row, tile, row_dim);
        dys.load(dy_row, tile, row_dim);
        if (HAS_DRESIDUAL) bypass.load(dresidual_row, tile, row_dim);
        if (HAS_WEIGHT) w.load(weight, tile, row_dim);
      }
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        const uint column = tile + v * PACK_STEP;
        if (column >= row_dim) break;
        const PackFloats values = xs.packs[v].floats();
        const PackFloats dyr = multiply(dys.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (HAS_DW && LOOPED) {
          dw[v] = together == begin ? splat<VECTOR_WIDTH>(0.0f)
                                    : load_floats<VECTOR_WIDTH>(dw_partial + column);
        }
        if (HAS_DW) dw[v] = multiply_add(dyr, values, dw[v]);
        if (HAS_DW && LOOPED) store_floats(dw[v], dw_partial + column);
        if (HAS_DX) {
          PackFloats rest = HAS_DRESIDUAL ? bypass.packs[v].floats() : splat<VECTOR_WIDTH>(-0.0f);
          rest = multiply_add(values, splat<VECTOR_WIDTH>(x_factor), rest);
          const PackFloats factors =
              HAS_WEIGHT ? weight_factors(w.packs[v]) : splat<VECTOR_WIDTH>(1.0f);
          store_floats(multiply_add(dyr, factors, rest), dx_row + column);
        }
      }
    }
  }

#if SHARED_DW
  // The rows that went together add up in their order; neighbouring threads write neighbours.
  threadgroup float shared[ROWS_PER_GROUP * PACK_STEP];
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < VECTOR_WIDTH; ++i) {
      shared[index / THREADS_PER_ROW * PACK_STEP + first + i] = dw[v].at[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = index; i < PACK_STEP; i += THREADS_PER_ROW * ROWS_PER_GROUP) {
      const uint column = v * PACK_STEP + i;
      if (column >= uint(params.dim)) break;
      float sum = shared[i];
      for (uint k = 1; k < ROWS_PER_GROUP; ++k) sum += shared[k * PACK_STEP + i];
      dw_partial[column] = sum;
    }
  }
#elif HAS_DW && !LOOPED
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (column < uint(params.dim)) store_floats(dw[v], dw_partial + column);
  }
#endif
}
