// SPDX-License-Identifier: MIT
// Gradients of rms_norm:
//
//   dx = r * (dy * w - x * s * r^2 / dim) [+ dresidual]       s = sum(dy * x * w)
//   dw_partial[group] = sum of dy * x * r over the group's rows, in a fixed order
//
// A group takes ROWS_PER_GROUP neighbouring rows, then rows that lie as many further on as all
// groups together take, so that groups which run at the same time read neighbouring memory. Rows
// that begin anywhere (SHIFTED) lie evenly, and the number of groups is a multiple of a pack: a
// group takes each so many-th row, and all of them begin at the same place in a pack. A group
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
#include "norm/rms_norm_backward_operands.h"
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_backward_absent.h"
  // Two exchanges take turns, so that one barrier a row is enough.
  threadgroup float2 exchange[2 * EXCHANGE_SIZE];
  uint turn = 0;

  const long rows = row_count(params.rows);
  const long stride = long(groups) * ROWS_PER_GROUP;
  const long apart = SHIFTED ? groups : 1;  // rows that go together
  const long begin = SHIFTED ? group : long(group) * ROWS_PER_GROUP;
  const long mine = index / THREADS_PER_ROW * apart;
  const uint first = first_column(index % THREADS_PER_ROW);
  const float inverse_dim = 1.0f / float(params.dim);

  // Threads of a row past the last one have no columns.
  RowIndex at = row_index(params.rows, begin + mine);
  const RowFrame frame = frame_of(x + row_offset(at, params.x), uint(params.dim));
  const RowFrame no_row = {frame.begin, frame.begin};
  x -= frame.begin;
  weight -= frame.begin;
  dy -= frame.begin;
  dresidual -= frame.begin;
  dx -= frame.begin;
  dw_partial += group * params.dim - frame.begin;

  Tile<X_TYPE> xs, dys, bypass, next_xs, next_dys;
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT && !LOOPED) {
    w.load(weight, first, frame);
    w.align(weight, first, frame);
    w.take_behind();
  }
  PackFloats dw[VECTORS_PER_THREAD];
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) dw[v] = splat<VECTOR_WIDTH>(0.0f);

  RowFrame next_frame = begin + mine < rows ? frame : no_row;
  if (!LOOPED) {
    next_xs.load_framed(x + row_offset(at, params.x), first, next_frame);
    next_dys.load(dy + row_offset(at, params.dy), first, next_frame);
  }
  for (long together = begin; together < rows; together += stride) {
    device const X_TYPE* x_row = x + row_offset(at, params.x);
    device const X_TYPE* dy_row = dy + row_offset(at, params.dy);
    device const X_TYPE* dresidual_row = dresidual + row_offset(at, params.dresidual);
    device X_TYPE* dx_row = dx + row_offset(at, params.dx);
    const long rms_inv_at = row_offset(at, params.rms_inv);
    const RowFrame row_frame = next_frame;
    const bool exists = row_frame.begin < row_frame.end;
    const uint row_end = LOOPED ? row_frame.end : TILE_SIZE;

    const long next = together + stride + mine;
    at = row_index(params.rows, next);
    next_frame = next < rows ? frame : no_row;
    if (!LOOPED) {
      xs = next_xs;
      dys = next_dys;
      next_xs.load_framed(x + row_offset(at, params.x), first, next_frame);
      next_dys.load(dy + row_offset(at, params.dy), first, next_frame);
    }

    float r = HAS_RMS_INV && exists ? rms_inv[rms_inv_at] : 0.0f;
    RowSum squares, products;  // of x^2 and of dy * w * x
    squares.begin();
    products.begin();
    for (uint start = 0; start < row_end; start += TILE_SIZE) {
      const uint tile = start + first;
      if (LOOPED) {
        xs.load_framed(x_row, tile, row_frame);
        dys.load(dy_row, tile, row_frame);
      } else if (HAS_DRESIDUAL) {
        bypass.load(dresidual_row, tile, row_frame);
      }
      if (HAS_WEIGHT && LOOPED) {
        w.load(weight, tile, row_frame);
        w.align(weight, tile, row_frame);
        w.take_behind();
      }
      xs.align_framed(tile, row_frame);
      xs.take_behind();
      dys.align(dy_row, tile, row_frame);
      dys.take_behind();
#pragma unroll
      for (uint v = 0; v < TILE_PACKS; ++v) {
        if (tile + v * PACK_STEP >= row_frame.end) break;
        const PackFloats values = xs.packs[v].floats();
        PackFloats wdy = dys.packs[v].floats();
        if (HAS_WEIGHT) wdy = multiply(wdy, weight_factors(w.packs[v]));
        if (!HAS_RMS_INV) squares.add(v, values, values, tile, row_frame);
        products.add(v, wdy, values, tile, row_frame);
      }
      if (!HAS_RMS_INV) squares.end_tile(tile, row_frame);
      products.end_tile(tile, row_frame);
    }
    float2 sums = float2(squares.sum, products.sum);
    if (HAS_DX || !HAS_RMS_INV) {
      sums = row_sum(sums, exchange + turn, index);
      turn = EXCHANGE_SIZE - turn;
    }
    // Of a row past the last one, r stays 0: without an eps it would be infinite, and the columns
    // that lie before a shifted row's first one would add NaN to dw.
    if (!HAS_RMS_INV && (!SHIFTED || exists)) r = rms_inv_of(sums.x, inverse_dim, params.eps);
    const float x_factor = -(sums.y * inverse_dim * r * (r * r));

    if (LOOPED) meet_in_place();
    for (uint start = 0; start < row_end; start += TILE_SIZE) {
      const uint tile = start + first;
      Tile<float> partial;
      if (LOOPED) {
        xs.load_framed(x_row, tile, row_frame);
        dys.load(dy_row, tile, row_frame);
        if (HAS_DRESIDUAL) bypass.load(dresidual_row, tile, row_frame);
        if (HAS_WEIGHT) w.load(weight, tile, row_frame);
        xs.align_framed(tile, row_frame);
        dys.align(dy_row, tile, row_frame);
        if (HAS_WEIGHT) w.align(weight, tile, row_frame);
      }
      if (HAS_DRESIDUAL) bypass.align(dresidual_row, tile, row_frame);
      if (HAS_DW && LOOPED && together > begin) {
        partial.load(dw_partial, tile, row_frame);
        partial.align(dw_partial, tile, row_frame);
      }
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (tile + v * PACK_STEP >= row_frame.end) break;
        const PackFloats values = xs.packs[v].floats();
        const PackFloats dyr = multiply(dys.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (HAS_DW && LOOPED) {
          dw[v] = together > begin ? partial.packs[v].floats() : splat<VECTOR_WIDTH>(0.0f);
        }
        if (HAS_DW) dw[v] = multiply_add(dyr, values, dw[v]);
        if (HAS_DW && LOOPED) partial.packs[v].set(dw[v]);
        if (HAS_DX) {
          PackFloats rest = HAS_DRESIDUAL ? bypass.packs[v].floats() : splat<VECTOR_WIDTH>(-0.0f);
          rest = multiply_add(values, splat<VECTOR_WIDTH>(x_factor), rest);
          const PackFloats factors =
              HAS_WEIGHT ? weight_factors(w.packs[v]) : splat<VECTOR_WIDTH>(1.0f);
          dys.packs[v].set(multiply_add(dyr, factors, rest));
        }
      }
      if (LOOPED) meet_in_place();
      if (HAS_DW && LOOPED) partial.store(dw_partial, tile, row_frame);
      if (HAS_DX) dys.store(dx_row, tile, row_frame);
    }
  }

  // Groups without rows have partials, too, in memory that nobody has cleared.
  if (HAS_DW && LOOPED && begin >= rows) {
    Tile<float> zeros;
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) zeros.packs[v].set(splat<VECTOR_WIDTH>(0.0f));
    for (uint start = 0; start < frame.end; start += TILE_SIZE) {
      zeros.store(dw_partial, start + first, frame);
    }
  }

#if SHARED_DW
  // The rows that went together add up in their order; neighbouring threads write neighbours.
  threadgroup float shared[ROWS_PER_GROUP * STEP_SIZE];
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < VECTOR_WIDTH; ++i) shared[index * VECTOR_WIDTH + i] = dw[v].at[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = index; i < STEP_SIZE; i += THREADS_PER_ROW * ROWS_PER_GROUP) {
      const uint column = first_column(i / VECTOR_WIDTH) + v * PACK_STEP + i % VECTOR_WIDTH;
      if (column >= frame.end) break;
      if (column < frame.begin) continue;
      float sum = shared[i];
      for (uint k = 1; k < ROWS_PER_GROUP; ++k) sum += shared[k * STEP_SIZE + i];
      dw_partial[column] = sum;
    }
  }
#elif HAS_DW && !LOOPED
  Tile<float> partial;
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) partial.packs[v].set(dw[v]);
  partial.store(dw_partial, first, frame);
#endif
}
