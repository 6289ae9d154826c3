// SPDX-License-Identifier: MIT
// rms_norm_backward for rows that one group cannot hold (kernels/norm/rms_norm_backward.metal says
// what it computes, and is its check). A row is cut into tiles. A group keeps to one tile of its
// columns, with its weights and its sums of dw in registers, and goes down the rows. Its next tile
// is on its way (line_ring.h) while it sums this one and publishes the sums; what it writes is the
// tile before, whose sums all groups of the row have published meanwhile. x and dy cross the memory
// bus once.
//
// On an H200, f32 rows of 12288 to 262144 columns reach 0.92 to 1.00 of the copy bandwidth, bf16
// rows of 32768 to 262144 0.86 to 0.96, sum_partials included, but for few lengths that fill no
// shape of tiles. With the tiles in registers it is 0.84 to 0.92 and 0.71 to 0.78; one group a row,
// which cannot hold it, reaches 0.55 at 16384. Rows that begin anywhere reach 0.90 and 0.86 (100003
// columns): each tile of theirs has its ends to look after, and more sums. Where many groups share
// them, a step asks for the sums that it will await before it works on its own (ASKS): 3 to 7 % at
// 131071 and 250001 columns. Elsewhere asking that early loses 1 to 20 %.

#include "common/lane_sum.h"
#include "common/row_index.h"
#include "common/row_sum.h"
#include "cuda/line_ring.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#include "norm/weight.h"

constant constexpr uint kBehind = kRmsNormBackwardLongStages - 1;  // steps from a tile's copy to dx

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW), cooperative(GROUPS_PER_UNIT)]]
void rms_norm_backward_long(
#include "norm/rms_norm_backward_operands.h"
    device SharedSum* shared [[buffer(kRmsNormBackwardLongSums)]],
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_backward_absent.h"
  threadgroup float2 exchange[2 * EXCHANGE_SIZE];
  const uint tiles = TILES_OF(params.dim), tile = group % tiles, lane = index % SIMD_WIDTH;
  const float inverse_dim = 1.0f / float(params.dim);
  const long rows = row_count(params.rows), stride = groups / tiles, begin = group / tiles;
  const uint steps = begin < rows ? uint((rows - begin - 1) / stride + 1) : 0;
  const SharedMemory memory = {shared};
  device SharedSum* sums = memory.sums();
  const uint run = memory.run();
  const TilePlace place = tile_place(
      tile, tiles, index,
      frame_of(x + row_offset(row_index(params.rows, begin), params.x), uint(params.dim)));
  const RowFrame frame = place.frame;
  SummedColumns summed_columns;
  summed_columns.find(place);
  x -= frame.begin;
  weight -= frame.begin;
  dy -= frame.begin;
  dresidual -= frame.begin;
  dx -= frame.begin;
  dw_partial += begin * params.dim - frame.begin;

  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) {
    w.load(weight, place.first, frame);
    w.align(weight, place.first, frame);
    w.take_behind();
  }
  PackFloats dw[VECTORS_PER_THREAD];
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) dw[v] = splat<VECTOR_WIDTH>(0.0f);

  typedef LineRing<kRmsNormBackwardLongStages> Ring;
  const Ring x_ring = Ring::in(stages, index);
  const TileBeside<Ring> dy_ring = {Ring::in(stages + Ring::kPacks, index)};
  x_ring.clear(place);
  dy_ring.clear(place);
  for (uint step = 0; step < steps + kBehind; ++step) {
    if (step < steps) {
      const RowIndex at = row_index(params.rows, begin + step * stride);
      x_ring.start(step, x + row_offset(at, params.x), place);
      dy_ring.start(step, dy + row_offset(at, params.dy), place);
    }
    end_copies();
    if (step == 0) continue;

    const uint now = step - 1, behind = step - kBehind;
    const bool waiting = step >= kBehind;
    const long row_behind = begin + behind * stride;
    const RowIndex at_behind = row_index(params.rows, row_behind);
    device const X_TYPE* bypass_row = dresidual + row_offset(at_behind, params.dresidual);
    device const SharedSum* const sums_behind = sums + row_behind * tiles * 2;
    SharedPair answers[SUMS_PER_LANE];
    if (ASKS && waiting && lane < tiles) answers[0] = ask_pair(sums_behind + lane * 2);
    Tile<X_TYPE> bypass;
    if (HAS_DRESIDUAL && waiting) bypass.load(bypass_row, place.first, frame);

    if (now < steps) {
      const RowIndex at = row_index(params.rows, begin + now * stride);
      await_copies<1>();
      x_ring.meet();
      x_ring.clear_end(now, place);
      dy_ring.clear_end(now, place);
      const Tile<X_TYPE> xs = summed_columns.of(x_ring.read(now, place));
      const Tile<X_TYPE> dys =
          summed_columns.of(dy_ring.read(now, dy + row_offset(at, params.dy), place));
      RowSum squares, products;  // of x^2 and of dy * w * x
      squares.begin();
      products.begin();
#pragma unroll
      for (uint v = 0; v < TILE_PACKS; ++v) {
        if (!place.counts(v)) break;
        const PackFloats values = xs.packs[v].floats();
        PackFloats wdy = dys.packs[v].floats();
        if (HAS_WEIGHT) wdy = summed_columns.of(multiply(wdy, weight_factors(w.packs[v])), v);
        if (!HAS_RMS_INV) squares.add(values, values);
        products.add(wdy, values);
      }
      if (!HAS_RMS_INV) squares.end_tile(place.first, frame);
      products.end_tile(place.first, frame);
      const float2 tile_sums = row_sum(float2(squares.sum, products.sum),
                                       exchange + now % 2 * EXCHANGE_SIZE, index);
      if (index == 0) publish(sums + ((begin + now * stride) * tiles + tile) * 2, tile_sums, run);
    }

    if (waiting) {
      float2 row_sums = float2(0.0f);
      for (uint part = lane; part < tiles; part += SUMS_PER_LANE * SIMD_WIDTH) {
        // All before the first answer is looked at: to ask for them one by one costs 4 to 14 %.
#pragma unroll
        for (uint i = 0; i < SUMS_PER_LANE; ++i) {
          const uint at = part + i * SIMD_WIDTH;
          if (at < tiles && (!ASKS || at > lane)) answers[i] = ask_pair(sums_behind + at * 2);
        }
#pragma unroll
        for (uint i = 0; i < SUMS_PER_LANE; ++i) {
          const uint at = part + i * SIMD_WIDTH;
          if (at < tiles) row_sums += await_pair(sums_behind + at * 2, run, answers[i]);
        }
      }
      row_sums = lane_sum<SIMD_WIDTH>(row_sums);
      const float r = HAS_RMS_INV ? rms_inv[row_offset(at_behind, params.rms_inv)]
                                  : rms_inv_of(row_sums.x, inverse_dim, params.eps);
      const float x_factor = -(row_sums.y * inverse_dim * r * (r * r));
      const Tile<X_TYPE> xs = x_ring.read(behind, place);
      Tile<X_TYPE> dys = dy_ring.read(behind, dy + row_offset(at_behind, params.dy), place);
      if (HAS_DRESIDUAL) bypass.align(bypass_row, place.first, frame);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!place.counts(v)) break;
        const PackFloats values = xs.packs[v].floats();
        const PackFloats dyr = multiply(dys.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (HAS_DW) dw[v] = multiply_add(dyr, values, dw[v]);
        if (HAS_DX) {
          PackFloats rest = HAS_DRESIDUAL ? bypass.packs[v].floats() : splat<VECTOR_WIDTH>(-0.0f);
          rest = multiply_add(values, splat<VECTOR_WIDTH>(x_factor), rest);
          const PackFloats factors =
              HAS_WEIGHT ? weight_factors(w.packs[v]) : splat<VECTOR_WIDTH>(1.0f);
          dys.packs[v].set(multiply_add(dyr, factors, rest));
        }
      }
      if (HAS_DX) store_tile(dys, x_ring, behind, dx + row_offset(at_behind, params.dx), place);
    }
  }

  Tile<float> partial;
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) partial.packs[v].set(dw[v]);
  if (HAS_DW) partial.store(dw_partial, place.first, frame);
  if (index == 0) memory.end(run, groups, 0);
}
