// SPDX-License-Identifier: MIT
// rms_norm for rows of 24 to 48 KiB, which registers hold badly (kernels/norm/rms_norm.metal says
// what it computes, and is its check). A group takes one row, copies it to threadgroup memory and
// finds it there again after its sum of squares; the rows of a multiprocessor's other groups are on
// their way meanwhile. Weights come from the cache. The sum has the bits of rms_norm's with as many
// threads, which serves where operands are many or rows few.
//
// On an H200: f32 rows of 12288 columns reach 0.97 of the copy bandwidth, which was 0.94 with a
// second reading; bf16 rows of 16384 columns 0.96, in registers 0.94.

#include "common/folded_sum.h"
#include "common/row_index.h"
#include "cuda/staged_row.h"
#include "norm/params.h"
#include "norm/weight.h"

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW)]]
void rms_norm_staged(
#include "norm/rms_norm_operands.h"
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_absent.h"
  threadgroup float exchange[FOLD_EXCHANGE_SIZE];
  const RowIndex at = row_index(params.rows, group);
  const uint first = index * VECTOR_WIDTH, dim = uint(params.dim);
  const StagedRow xs = {stages + index};
  const StagedRow residuals = {stages + ROW_PACKS + index};
  const StagedRow factors = {stages + (1 + HAS_RESIDUAL) * ROW_PACKS + index};
  xs.start(x + row_offset(at, params.x), first, dim);
  if (HAS_RESIDUAL) residuals.start(residual + row_offset(at, params.residual), first, dim);
  if (HAS_SCALE) factors.start(scale + row_offset(at, params.scale), first, dim);
  end_copies();
  sum += row_offset(at, params.sum);
  y += row_offset(at, params.y);

  await_copies<0>();
  float squares[PACK_SUMS] = {};
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (column >= dim) break;
    RowPack s = xs.pack(v);
    if (HAS_RESIDUAL) {
      s.set(add(s.floats(), residuals.floats(v)));
      s.store(sum + column);
      xs.at(v)->words[0] = s.words[0];
    }
    // Of s as rounded: the norm of the sum has the bits that it would have on its own.
    const PackFloats values = s.floats();
    squares[v % PACK_SUMS] = add_products(values, values, squares[v % PACK_SUMS]);
  }

  const float r =
      rms_inv_of(folded_row_sum(squares, exchange, index), params.inverse_dim, params.eps);
  if (HAS_RMS_INV && index == 0) rms_inv[row_offset(at, params.rms_inv)] = r;
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (!HAS_Y || column >= dim) break;
    PackFloats values = multiply(xs.floats(v), splat<VECTOR_WIDTH>(r));
    if (ROUND_BEFORE_WEIGHT) {
      RowPack rounded;
      rounded.set(values);
      values = rounded.floats();
    }
    if (HAS_WEIGHT) {
      Pack<WEIGHT_TYPE, VECTOR_WIDTH> w;
      w.load(weight + column);
      values = multiply(values, weight_factors(w));
    }
    if (HAS_SCALE) values = multiply(values, factors.floats(v));
    store_floats(values, y + column);
  }
}
