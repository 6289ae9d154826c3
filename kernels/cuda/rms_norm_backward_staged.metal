// SPDX-License-Identifier: MIT
// rms_norm_backward for 16-bit rows that fill registers badly (kernels/norm/rms_norm_backward.metal
// says what it computes, and is its check). A group has a row to itself and keeps it in threadgroup
// memory, where the next one is on its way meanwhile; its weights and its sums of dw stay in
// registers from row to row. x and dy cross the memory bus once, and each group writes one partial.
//
// On an H200, bf16 rows of 576 to 16384 columns reach 0.94 to 1.00 of the copy bandwidth. With two
// rows in registers it was 0.80 to 0.88 at 1152, 1536, 5120 and 6144 columns; tiles that groups
// share reached 0.88 to 0.92.

#include "common/row_index.h"
#include "common/row_sum.h"
#include "cuda/params.h"
#define COPY_CACHE "ca"  // "cg" is up to 1.5 % slower here
#include "cuda/staged_row.h"
#include "norm/weight.h"

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW)]]
void rms_norm_backward_staged(
#include "norm/rms_norm_backward_operands.h"
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_backward_absent.h"
  // Two of each take turns: of exchanges, so that one barrier a row is enough, and of rows.
  threadgroup float2 exchange[2 * EXCHANGE_SIZE];
  uint turn = 0;

  const long rows = row_count(params.rows);
  const uint first = index * VECTOR_WIDTH, dim = uint(params.dim);
  const float inverse_dim = 1.0f / float(params.dim);
  dw_partial += group * params.dim;

  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) w.load(weight, first, {0, dim});
  PackFloats dw[VECTORS_PER_THREAD];
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) dw[v] = splat<VECTOR_WIDTH>(0.0f);

  RowIndex next = row_index(params.rows, group);
  StagedRow xs = {stages + index}, dys = {stages + kRmsNormBackwardStagedRows * ROW_PACKS + index};
  if (group < rows) {
    xs.start(x + row_offset(next, params.x), first, dim);
    dys.start(dy + row_offset(next, params.dy), first, dim);
  }
  end_copies();
  for (long row = group; row < rows; row += groups) {
    const RowIndex at = next;
    next = row_index(params.rows, row + groups);
    const StagedRow next_xs = {stages + (1 - turn) * ROW_PACKS + index};
    const StagedRow next_dys = {next_xs.packs + kRmsNormBackwardStagedRows * ROW_PACKS};
    if (row + groups < rows) {
      next_xs.start(x + row_offset(next, params.x), first, dim);
      next_dys.start(dy + row_offset(next, params.dy), first, dim);
    }
    end_copies();
    Tile<X_TYPE> bypass;
    if (HAS_DRESIDUAL) bypass.load(dresidual + row_offset(at, params.dresidual), first, {0, dim});
    float r = HAS_RMS_INV ? rms_inv[row_offset(at, params.rms_inv)] : 0.0f;

    await_copies<1>();
    float2 sums = float2(0.0f);  // of x^2 and of dy * w * x
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      if (first + v * PACK_STEP >= dim) break;
      const PackFloats values = xs.floats(v);
      PackFloats wdy = dys.floats(v);
      if (HAS_WEIGHT) wdy = multiply(wdy, weight_factors(w.packs[v]));
      if (!HAS_RMS_INV) sums.x = add_products(values, values, sums.x);
      sums.y = add_products(wdy, values, sums.y);
    }
    if (HAS_DX || !HAS_RMS_INV) sums = row_sum(sums, exchange + turn * EXCHANGE_SIZE, index);
    if (!HAS_RMS_INV) r = rms_inv_of(sums.x, inverse_dim, params.eps);
    const float x_factor = -(sums.y * inverse_dim * r * (r * r));

    device X_TYPE* dx_row = dx + row_offset(at, params.dx);
#pragma unroll
    for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
      const uint column = first + v * PACK_STEP;
      if (column >= dim) break;
      const PackFloats values = xs.floats(v);
      const PackFloats dyr = multiply(dys.floats(v), splat<VECTOR_WIDTH>(r));
      if (HAS_DW) dw[v] = multiply_add(dyr, values, dw[v]);
      if (HAS_DX) {
        PackFloats rest = HAS_DRESIDUAL ? bypass.packs[v].floats() : splat<VECTOR_WIDTH>(-0.0f);
        rest = multiply_add(values, splat<VECTOR_WIDTH>(x_factor), rest);
        const PackFloats factors =
            HAS_WEIGHT ? weight_factors(w.packs[v]) : splat<VECTOR_WIDTH>(1.0f);
        store_floats(multiply_add(dyr, factors, rest), dx_row + column);
      }
    }
    xs = next_xs;
    dys = next_dys;
    turn = 1 - turn;
  }

#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (HAS_DW && column < dim) store_floats(dw[v], dw_partial + column);
  }
}
