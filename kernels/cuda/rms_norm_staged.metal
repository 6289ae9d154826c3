// SPDX-License-Identifier: MIT
// rms_norm for rows of 24 to 256 KiB, which registers hold badly (kernels/norm/rms_norm.metal says
// what it computes, and is its check). A group takes one row, copies it to threadgroup memory and
// finds it there again after its sum of squares; the longest leave their last HELD_PACKS of a
// thread in registers. All other operands come from memory or the cache as they are needed, so that
// the sum has the same bits with any of them. Of rows of up to 48 KiB it has the bits of rms_norm's
// with as many threads, which serves where rows are few.
//
// Groups end with their row: those that stay and go down the rows wait for the slowest
// multiprocessor, 0.93 of the copy bandwidth of an H200 where these reach 0.98 (rows of 128 KiB).

#include "common/folded_sum.h"
#include "common/row_index.h"
#include "cuda/staged_row.h"
#include "norm/params.h"
#include "norm/weight.h"

#define STAGED_PACKS (VECTORS_PER_THREAD - HELD_PACKS)

/// Packs of an operand in device memory, two batches of a thread's at a time: one is requested
/// while the other is used, the first by whoever begins.
template <typename T>
struct PacksAhead {
  enum : uint { kBatch = HELD_PACKS && HAS_RESIDUAL ? 1 : 2 };

  Pack<T, VECTOR_WIDTH> packs[2 * kBatch];

  /// Of pack `begin` on; `column`: of the thread's first.
  void request(uint begin, device const T* row, uint column, uint dim) {
#pragma unroll
    for (uint i = 0; i < kBatch; ++i) {
      const uint v = begin + i, at = column + v * PACK_STEP;
      if (v < VECTORS_PER_THREAD && at < dim) packs[v % (2 * kBatch)].load(row + at);
    }
  }

  /// Requests the batch behind the one that begins with pack `v`, if one does.
  void pass(uint v, device const T* row, uint column, uint dim) {
    if (v % kBatch == 0) request(v + kBatch, row, column, dim);
  }

  Pack<T, VECTOR_WIDTH> pack(uint v) const { return packs[v % (2 * kBatch)]; }
};

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
  x += row_offset(at, params.x);
  residual += row_offset(at, params.residual);
  scale += row_offset(at, params.scale);
  sum += row_offset(at, params.sum);
  y += row_offset(at, params.y);

  RowPack held[HELD_PACKS + 1];
#pragma unroll
  for (uint v = STAGED_PACKS; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (column < dim) held[v - STAGED_PACKS].load(x + column);
  }
  const StagedRow staged = {stages + index};
  staged.start<STAGED_PACKS>(x, first, dim);
  end_copies();
  PacksAhead<X_TYPE> addends, factors;
  PacksAhead<WEIGHT_TYPE> weights;
  if (HAS_RESIDUAL) addends.request(0, residual, first, dim);
  await_copies<0>();

  float squares[PACK_SUMS] = {};
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (column >= dim) break;
    RowPack s = v < STAGED_PACKS ? staged.pack(v) : held[v - STAGED_PACKS];
    if (HAS_RESIDUAL) {
      addends.pass(v, residual, first, dim);
      s.set(add(s.floats(), addends.pack(v).floats()));
      s.store(sum + column);
      if (v < STAGED_PACKS) {
        staged.at(v)->words[0] = s.words[0];
      } else {
        held[v - STAGED_PACKS] = s;
      }
    }
    // Of s as rounded: the norm of the sum has the bits that it would have on its own.
    const PackFloats values = s.floats();
    squares[v % PACK_SUMS] = add_products(values, values, squares[v % PACK_SUMS]);
  }

  if (HAS_WEIGHT) weights.request(0, weight, first, dim);
  if (HAS_SCALE) factors.request(0, scale, first, dim);
  const float r =
      rms_inv_of(folded_row_sum(squares, exchange, index), params.inverse_dim, params.eps);
  if (HAS_RMS_INV && index == 0) rms_inv[row_offset(at, params.rms_inv)] = r;
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint column = first + v * PACK_STEP;
    if (!HAS_Y || column >= dim) break;
    if (HAS_WEIGHT) weights.pass(v, weight, first, dim);
    if (HAS_SCALE) factors.pass(v, scale, first, dim);
    RowPack s = v < STAGED_PACKS ? staged.pack(v) : held[v - STAGED_PACKS];
    PackFloats values = multiply(s.floats(), splat<VECTOR_WIDTH>(r));
    if (ROUND_BEFORE_WEIGHT) {
      s.set(values);
      values = s.floats();
    }
    if (HAS_WEIGHT) values = multiply(values, weight_factors(weights.pack(v)));
    if (HAS_SCALE) values = multiply(values, factors.pack(v).floats());
    store_floats(values, y + column);
  }
}
