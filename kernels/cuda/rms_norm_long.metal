// SPDX-License-Identifier: MIT
// rms_norm for rows that are too long for one group (kernels/norm/rms_norm.metal says what it
// computes, and is its check). A row is cut into tiles. A group keeps to one tile of its columns,
// with its weights in registers, and takes row after row. The next tile is on its way (tile_ring.h)
// while it sums this one and publishes the sum; what it writes is a tile from some rows before,
// whose sums all groups of the row have published meanwhile. A row crosses the memory bus once.
//
// Groups take tickets for rows, so that none waits for the slowest multiprocessor in the end. That
// they wait for each other's sums also keeps them close together in memory: without any waiting
// they are 2 to 5 % slower. A step publishes its sum before all else, since others wait for it
// (waiting first loses 4 %). At its end, with its stores on their way, it may ask for the sums of
// the row that the next step writes, or await them (AHEAD). Asking pays where many groups share a
// 16-bit row, by 0.5 % at 262144 columns, and where rows begin anywhere, by 4 to 37 %.
//
// On an H200, rows of 192 KiB and more reach 0.95 to 1.00 of the copy bandwidth, with a residual as
// well. Where reads do not stay in the L2 (staying_reads.h) it is 0.94 to 0.97; with rows dealt out
// in turn 0.89 to 0.93, with one group a row, which reads it twice, 0.72 (f32, 65536 columns) and
// 0.63 (262144). Rows that begin anywhere mostly reach 0.92 to 0.97 in f32, 0.87 to 0.95 in bf16.

#include "common/lane_sum.h"
#include "common/row_index.h"
#include "common/row_sum.h"
#include "cuda/params.h"
#include "cuda/shared_sums.h"
#define COPY_CACHE "ca"
#include "cuda/tile_ring.h"
#include "norm/weight.h"

constant constexpr uint kStages = STAGES;
constant constexpr uint kNoRow = 0xffffffff;  // past all rows

/// x + residual, rounded as it is written.
METAL_FUNC Tile<X_TYPE> summed(Tile<X_TYPE> tile, Tile<X_TYPE> residual) {
#pragma unroll
  for (uint v = 0; v < TILE_PACKS; ++v) {
    tile.packs[v].set(add(tile.packs[v].floats(), residual.packs[v].floats()));
  }
  return tile;
}

/// SIMD-groups that ask for the sums of a row, while the others go on. Rows that begin anywhere may
/// have more tiles than one of them has lanes.
constant constexpr uint kAsking = SHIFTED ? SIMDGROUPS_PER_ROW : 1;
constant constexpr uint kApart = kAsking * SIMD_WIDTH;
/// Sums that a lane asks for before it looks at the first answer. To ask for them one by one costs
/// 1 to 3 % at 140000 to 256000 columns of f32.
constant constexpr uint kAtOnce = SHIFTED || AHEAD == kAheadAsks ? 1 : SUMS_PER_LANE;

/// The answer to one thread, for await_row. `sums`: of the row.
METAL_FUNC ulong ask_row(device const SharedSum* sums, uint tiles, uint index) {
  return index < min(tiles, kApart) ? ask(sums + index) : 0;
}

/// The sum of a row, once all its groups have published theirs.
METAL_FUNC float await_row(device const SharedSum* sums, uint tiles, uint run, uint index,
                           ulong answer, threadgroup float* exchange) {
  const uint simdgroup = index / SIMD_WIDTH;
  if (simdgroup < kAsking) {
    float squares = 0.0f;
    for (uint part = index; part < tiles; part += kAtOnce * kApart) {
      ulong answers[kAtOnce] = {answer};
#pragma unroll
      for (uint i = 1; i < kAtOnce; ++i) {
        const uint at = part + i * kApart;
        answers[i] = at < tiles ? ask(sums + at) : 0;
      }
#pragma unroll
      for (uint i = 0; i < kAtOnce; ++i) {
        const uint at = part + i * kApart;
        if (at < tiles) squares += await(sums + at, run, answers[i]);
      }
      answer = 0;
    }
    squares = lane_sum<SIMD_WIDTH>(squares);
    if (index % SIMD_WIDTH == 0) exchange[simdgroup] = squares;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float squares = exchange[0];
#pragma unroll
  for (uint i = 1; i < kAsking; ++i) squares += exchange[i];
  return squares;
}

[[kernel, max_total_threads_per_threadgroup(THREADS_PER_ROW), cooperative(GROUPS_PER_UNIT)]]
void rms_norm_long(
#include "norm/rms_norm_operands.h"
    device SharedSum* shared [[buffer(kRmsNormLongSums)]],
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_absent.h"
  // Of this step and the one before: one barrier a step is enough for each.
  threadgroup float exchange[2 * EXCHANGE_SIZE], row_exchange[2 * kAsking];
  threadgroup uint tickets[2];
  const uint tiles = TILES_OF(params.dim), tile = group % tiles;
  const uint rows = uint(row_count(params.rows)), at_once = groups / tiles, begin = group / tiles;
  // Rows of one group begin at the same place in a pack.
  const uint alike = begin % ROWS_TOGETHER;
  const SharedMemory memory = {shared};
  device SharedSum* counter = memory.counter(tile * ROWS_TOGETHER + alike);
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
  residual -= frame.begin;
  scale -= frame.begin;
  sum -= frame.begin;
  y -= frame.begin;
  Tile<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) {
    w.load(weight, place.first, frame);
    w.align(weight, place.first, frame);
  }

  typedef TileRing<kStages> Ring;
  typedef TileRing<kRmsNormLongResidualStages> ResidualRing;
  const Ring ring = Ring::in(stages, index);  // of x, then of its sum with a residual
  const TileBeside<ResidualRing> residuals = {ResidualRing::in(stages + Ring::kPacks, index)};
  ring.clear(place);
  if (HAS_RESIDUAL) residuals.clear(place);
  uint held[kStages];  // rows in the ring, the latest first
#pragma unroll
  for (uint i = 0; i < kStages; ++i) held[i] = kNoRow;
  uint next = begin, ticket = 0;
  ulong answer = 0;
  float squares = 0.0f;  // of the row that is written, or will be next
  for (uint step = 0;; ++step) {
#pragma unroll
    for (uint i = kStages - 1; i > 0; --i) held[i] = held[i - 1];
    held[0] = next;
    const uint coming = held[0], now = held[1];
    const uint written_next = held[kStages - 2], behind = held[kStages - 1];
    if (coming < rows) {
      const RowIndex at = row_index(params.rows, coming);
      ring.start(step, x + row_offset(at, params.x), place);
      if (HAS_RESIDUAL) residuals.start(step, residual + row_offset(at, params.residual), place);
    }
    end_copies();
    if (index == 0 && coming < rows) {
      tickets[step % 2] = ticket;
      ticket = take_ticket(counter);
    }
    const bool waiting = behind < rows;
    const RowIndex at_behind = row_index(params.rows, behind);
    device const X_TYPE* scale_row = scale + row_offset(at_behind, params.scale);
    Tile<X_TYPE> factor;
    if (HAS_SCALE && waiting) factor.load(scale_row, place.first, frame);

    if (now < rows) {
      const RowIndex at = row_index(params.rows, now);
      await_copies<1>();
      ring.clear_end(step - 1, place);
      if (HAS_RESIDUAL) residuals.clear_end(step - 1, place);
      Tile<X_TYPE> s = ring.read(step - 1, place);
      if (HAS_RESIDUAL) {
        device const X_TYPE* residual_row = residual + row_offset(at, params.residual);
        s = summed(s, residuals.read(step - 1, residual_row, place));
        ring.write(step - 1, s);
        if (!SHIFTED) store_tile(s, sum + row_offset(at, params.sum), place);
      }
      RowSum of_tile;
      of_tile.begin();
      s = summed_columns.of(s);
#pragma unroll
      for (uint v = 0; v < TILE_PACKS; ++v) {
        if (!place.counts(v)) break;
        const PackFloats values = s.packs[v].floats();
        of_tile.add(values, values);
      }
      of_tile.end_tile(place.first, frame);
      const float tile_sum = row_sum(of_tile.sum, exchange + step % 2 * EXCHANGE_SIZE, index);
      if (index == 0) publish(sums + long(now) * tiles + tile, tile_sum, run);
    }
    // Its first two rows are given; the ticket for the one after was taken a step ago.
    next = step == 0 ? begin + at_once : 2 * at_once + alike + tickets[step % 2] * ROWS_TOGETHER;
    if (coming >= rows || next >= rows) next = kNoRow;

    threadgroup float* const row_exchange_now = row_exchange + step % 2 * kAsking;
    if (AHEAD != kAheadAwaits && waiting) {
      device const SharedSum* const from = sums + long(behind) * tiles;
      squares = await_row(from, tiles, run, index, answer, row_exchange_now);
    }
    if (waiting) {
      const float r = rms_inv_of(squares, params.inverse_dim, params.eps);
      if (HAS_RMS_INV && place.first == 0) rms_inv[row_offset(at_behind, params.rms_inv)] = r;
      Tile<X_TYPE> s = ring.read(step + 1, place);  // the oldest, that the next step's will replace
      // It may go where other groups read what lies behind their run, which have published.
      if (HAS_RESIDUAL && SHIFTED) {
        store_tile(s, sum + row_offset(at_behind, params.sum), place);
      }
      if (HAS_SCALE) factor.align(scale_row, place.first, frame);
#pragma unroll
      for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
        if (!HAS_Y || !place.counts(v)) break;
        PackFloats values = multiply(s.packs[v].floats(), splat<VECTOR_WIDTH>(r));
        if (ROUND_BEFORE_WEIGHT) {
          RowPack rounded;
          rounded.set(values);
          values = rounded.floats();
        }
        if (HAS_WEIGHT) values = multiply(values, weight_factors(w.packs[v]));
        if (HAS_SCALE) values = multiply(values, factor.packs[v].floats());
        s.packs[v].set(values);
      }
      if (HAS_Y) store_tile(s, y + row_offset(at_behind, params.y), place);
    }
    if (AHEAD != kAheadNothing && written_next < rows) {
      device const SharedSum* const from = sums + long(written_next) * tiles;
      if (AHEAD == kAheadAsks) answer = ask_row(from, tiles, index);
      if (AHEAD == kAheadAwaits) squares = await_row(from, tiles, run, index, 0, row_exchange_now);
    }

    uint left = 0;
#pragma unroll
    for (uint i = 0; i < kStages - 1; ++i) left += held[i] < rows ? 1 : 0;
    if (left == 0 && next == kNoRow) break;
  }
  if (index == 0) memory.end(run, groups, tiles * ROWS_TOGETHER);
}
