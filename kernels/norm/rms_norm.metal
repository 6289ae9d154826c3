// SPDX-License-Identifier: MIT
// rms_norm, rms_norm_mul and residual_rms_norm:
//
//   s = x + residual, rounded to the dtype of x and written to sum; or just x
//   r = 1 / sqrt(mean(s^2) + eps)
//   y = s * r * weight * scale, rounded once
//
// A group takes ROWS_PER_GROUP rows, and THREADS_PER_ROW threads share a row. A row that fits one
// tile stays in registers between its sum of squares and its output, so that every operand crosses
// the memory bus once: 2 * dim elements a row, 3 with scale, 4 with residual. A longer row (LOOPED)
// is read a second time, mostly from the cache. Weights are the same for all rows and stay in the
// cache; all that multiplies s is requested before the row's threads wait for each other.
//
// Few rows leave most of a GPU idle: each then has GROUPS_PER_ROW groups. All of them sum the whole
// row, so that none waits for another, and each multiplies and writes a share of it.

#include "common/folded_sum.h"
#include "common/row_index.h"
#include "norm/params.h"
#include "norm/weight.h"

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW * ROWS_PER_GROUP)]]
void rms_norm(
#include "norm/rms_norm_operands.h"
    uint group [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_absent.h"
  threadgroup float exchange[FOLD_EXCHANGE_SIZE];

  const uint share = group % GROUPS_PER_ROW;
  const long row = long(group / GROUPS_PER_ROW) * ROWS_PER_GROUP + index / THREADS_PER_ROW;
  const RowIndex at = row_index(params.rows, row);
  x += row_offset(at, params.x);
  residual += row_offset(at, params.residual);
  scale += row_offset(at, params.scale);
  sum += row_offset(at, params.sum);
  y += row_offset(at, params.y);
  rms_inv += row_offset(at, params.rms_inv);

  // Threads of a row past the last one have no columns: they only keep the others company.
  const uint dim = row < row_count(params.rows) ? uint(params.dim) : 0;
  const RowFrame frame = frame_of(x, dim);
  x -= frame.begin;
  weight -= frame.begin;
  residual -= frame.begin;
  scale -= frame.begin;
  sum -= frame.begin;
  y -= frame.begin;
  const uint first = first_column(index % THREADS_PER_ROW);
  const uint end = LOOPED ? frame.end : TILE_SIZE;
  const RowFrame written = share_of(frame, share);

  Tile<X_TYPE> s, addend, factor;
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT && !LOOPED) w.load(weight, first, written);
  if (HAS_SCALE && !LOOPED) factor.load(scale, first, written);
  FoldedSum squares;
  squares.begin();
  for (uint begin = 0; begin < end; begin += TILE_SIZE) {
    const uint tile = begin + first;
    s.load_framed(x, tile, frame);
    if (HAS_RESIDUAL) addend.load(residual, tile, frame);
    s.align_framed(tile, frame);
    s.take_behind();
    if (HAS_RESIDUAL) {
      addend.align(residual, tile, frame);
      addend.take_behind();
    }
#pragma unroll
    for (uint v = 0; v < TILE_PACKS; ++v) {
      if (tile + v * PACK_STEP >= frame.end) break;
      if (HAS_RESIDUAL) s.packs[v].set(add(s.packs[v].floats(), addend.packs[v].floats()));
      // Of s as rounded: the norm of the sum has the bits that it would have on its own.
      const PackFloats values = s.packs[v].floats();
      squares.add(v, values, tile, frame);
    }
    squares.end_tile(tile, frame);
    if (HAS_RESIDUAL) {
      meet_in_place();
      s.store(sum, tile, frame);
    }
  }

  const float r =
      rms_inv_of(squares.over_row(exchange, index), params.inverse_dim, params.eps);
  if (HAS_RMS_INV && first == 0 && share == 0 && dim > 0) *rms_inv = r;
  if (!HAS_Y) return;

  if (LOOPED) meet_in_place();
  for (uint begin = 0; begin < end; begin += TILE_SIZE) {
    const uint tile = begin + first;
    device const X_TYPE* source = HAS_RESIDUAL ? sum : x;
    if (LOOPED) s.load(source, tile, frame);
    if (LOOPED && HAS_WEIGHT) w.load(weight, tile, frame);
    if (LOOPED && HAS_SCALE) factor.load(scale, tile, frame);
    if (LOOPED) s.align(source, tile, frame);
    if (HAS_WEIGHT) w.align(weight, tile, frame);
    if (HAS_SCALE) factor.align(scale, tile, frame);
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      if (tile + v * PACK_STEP >= written.end) break;
      if (GROUPS_PER_ROW > 1 && !written.has(tile + v * PACK_STEP)) continue;
      PackFloats values = multiply(s.packs[v].floats(), splat<VECTOR_WIDTH>(r));
      if (ROUND_BEFORE_WEIGHT) {
        s.packs[v].set(values);
        values = s.packs[v].floats();
      }
      if (HAS_WEIGHT) values = multiply(values, weight_factors(w.packs[v]));
      if (HAS_SCALE) values = multiply(values, factor.packs[v].floats());
      s.packs[v].set(values);
    }
    if (LOOPED) meet_in_place();
    s.store(y, tile, written);
  }
}
