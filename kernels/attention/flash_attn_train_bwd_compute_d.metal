// SPDX-License-Identifier: MIT
// d[row] = sum over head_dim of o * d_o, the pre-pass of the attention backward.
//
// A head is short, so a group takes ROWS_PER_GROUP rows at once. Everything is read once and only
// 4 bytes a row are written: bound by reading, 2 * head_dim elements a row.

#include "attention/params.h"
#include "common/row_index.h"
#include "common/row_sum.h"
#include "common/tile.h"

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW * ROWS_PER_GROUP)]]
void flash_attn_train_bwd_compute_d(
    device const X_TYPE* o [[buffer(kComputeDO)]],
    device const X_TYPE* d_o [[buffer(kComputeDDo)]],
    device float* d [[buffer(kComputeDOut)]],
    constant ComputeDParams& params [[buffer(kComputeDParams)]],
    uint group [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]]) {
  threadgroup float exchange[EXCHANGE_SIZE];

  const long row = long(group) * ROWS_PER_GROUP + index / THREADS_PER_ROW;
  const RowIndex at = row_index(params.rows, row);
  o += row_offset(at, params.o);
  d_o += row_offset(at, params.d_o);
  // Threads of a row past the last one have no columns: they only keep the others company.
  const uint dim = row < row_count(params.rows) ? uint(params.head_dim) : 0;
  const RowFrame frame = frame_of(o, dim);
  o -= frame.begin;
  d_o -= frame.begin;
  const uint first = first_column(index % THREADS_PER_ROW);

  RowSum products;
  products.begin();
  for (uint begin = 0; begin < frame.end; begin += TILE_SIZE) {
    const uint tile = begin + first;
    Tile<X_TYPE> os, d_os;
    os.load_framed(o, tile, frame);
    d_os.load(d_o, tile, frame);
    os.align_framed(tile, frame);
    os.take_behind();
    d_os.align(d_o, tile, frame);
    d_os.take_behind();
#pragma unroll
    for (uint v = 0; v < TILE_PACKS; ++v) {
      if (tile + v * PACK_STEP >= frame.end) break;
      products.add(v, os.packs[v].floats(), d_os.packs[v].floats(), tile, frame);
    }
    products.end_tile(tile, frame);
  }
  const float sum = row_sum(products.sum, exchange, index);
  if (first == 0 && dim > 0) d[row_offset(at, params.d)] = sum;
}
