// SPDX-License-Identifier: MIT
// rms_norm for rows of 24 to 192 KiB, which registers hold badly (kernels/norm/rms_norm.metal says
// what it computes, and is its check). A group takes one row, copies it to threadgroup memory,
// sums its squares as they arrive and finds the row there again afterwards. All other operands come
// from memory or the cache as they are needed, so that the sum has the same bits with any of them.
// Of rows of up to 32 KiB it has the bits of rms_norm's with 512 threads, which serves where rows
// are few and in place or have a residual.
//
// Few rows have GROUPS_PER_ROW groups each, as those of rms_norm do: on an H200, a row of 16384
// columns in a graph takes 1.7 us instead of 2.9 in f32, 1.6 instead of 2.4 in bf16.
//
// Groups end with their row. Those that stay and go down the rows wait for the slowest
// multiprocessor: on an H200, rows of 128 KiB reached 0.91 of the copy bandwidth with them and 0.97
// here, 0.90 and 0.95 in bf16; since reads stay (staying_reads.h) 1.01 and 0.99 here (norite bench
// --device cuda --filter 'rms_norm[').

#include "common/folded_sum.h"
#include "common/row_index.h"
#include "cuda/staged_row.h"
#include "norm/params.h"
#include "norm/weight.h"

/// Packs of an operand that a thread has requested; two operands share its registers.
#define AHEAD (HAS_RESIDUAL || HAS_SCALE ? 2 : 4)

/// Packs of a thread that are the row's in any case: all but its last, since threads have no more
/// than they need; of eight, which stand for four of twice the threads, all but two.
#define SURE_PACKS (VECTORS_PER_THREAD - (THREADS_PER_ROW == 256 ? 2 : 1))

/// Whether a thread's pack `v`, which would begin with `column`, is one of the row's. Known when
/// compiled, that lets accesses overlap.
METAL_FUNC bool exists(uint v, uint column, uint dim) { return v < SURE_PACKS || column < dim; }

/// The same of the packs that its group writes. Several groups may share a row unevenly.
#define WRITTEN_PACKS (SHARE_SIZE / PACK_STEP)
METAL_FUNC bool is_written(uint v, uint column, uint dim) {
  return GROUPS_PER_ROW == 1 ? exists(v, column, dim) : column < dim;
}

/// Packs of an operand in device memory, AHEAD of them under way: the first are requested at the
/// beginning, each other one as its place becomes free.
template <typename T>
struct PacksAhead {
  Pack<T, VECTOR_WIDTH> packs[AHEAD];

  /// `column`: of the thread's first.
  void request(uint v, device const T* row, uint column, uint dim) {
    const uint at = column + v * PACK_STEP;
    if (v < WRITTEN_PACKS && is_written(v, at, dim)) packs[v % AHEAD].load(staying(row) + at);
  }

  void begin(device const T* row, uint column, uint dim) {
#pragma unroll
    for (uint v = 0; v < AHEAD; ++v) request(v, row, column, dim);
  }

  PackFloats floats(uint v) const { return packs[v % AHEAD].floats(); }
};

// A multiprocessor runs four groups of 256 threads, two of 512 or one of 1024: 64 registers each.
[[kernel, max_total_threads_per_threadgroup(1024)]]
void rms_norm_staged(
#include "norm/rms_norm_operands.h"
    threadgroup RowPack* stages [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#include "norm/rms_norm_absent.h"
  threadgroup float exchange[FOLD_EXCHANGE_SIZE];
  const RowIndex at = row_index(params.rows, group / GROUPS_PER_ROW);
  const uint first = index * VECTOR_WIDTH, dim = uint(params.dim);
  x += row_offset(at, params.x);
  residual += row_offset(at, params.residual);
  scale += row_offset(at, params.scale);
  sum += row_offset(at, params.sum);
  y += row_offset(at, params.y);

  const StagedRow staged = {stages + index};
  const uint target = copy_target(staged.packs);
  device const X_TYPE* const from = copy_source(x + first);
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    const uint step = v * PACK_STEP;
    if (exists(v, first + step, dim)) start_copy(target + step * sizeof(X_TYPE), from + step);
    end_copies();
  }
  PacksAhead<X_TYPE> addends, factors;
  PacksAhead<WEIGHT_TYPE> weights;
  const uint share = group % GROUPS_PER_ROW, first_written = first + share * SHARE_SIZE;
  const StagedRow written = {staged.at(share * WRITTEN_PACKS)};
  if (HAS_RESIDUAL) addends.begin(residual, first, dim);
  // What multiplies a share comes with the row; of a whole row, when registers are free for it.
  if (HAS_WEIGHT && GROUPS_PER_ROW > 1) weights.begin(weight, first_written, dim);
  if (HAS_SCALE && GROUPS_PER_ROW > 1) factors.begin(scale, first_written, dim);

  float squares[PACK_SUMS] = {};
#pragma unroll
  for (uint v = 0; v < VECTORS_PER_THREAD; ++v) {
    // Each pack is summed as it arrives.
    await_copies_but<VECTORS_PER_THREAD - 1>(VECTORS_PER_THREAD - 1 - v);
    const uint column = first + v * PACK_STEP;
    if (!exists(v, column, dim)) break;
    RowPack s = staged.pack(v);
    if (HAS_RESIDUAL) {
      s.set(add(s.floats(), addends.floats(v)));
      addends.request(v + AHEAD, residual, first, dim);
      s.store(sum + column);
      staged.at(v)->words[0] = s.words[0];
    }
    // Of s as rounded: the norm of the sum has the bits that it would have on its own.
    const PackFloats values = s.floats();
    squares[v % PACK_SUMS] = add_products(values, values, squares[v % PACK_SUMS]);
  }

  if (HAS_WEIGHT && GROUPS_PER_ROW == 1) weights.begin(weight, first_written, dim);
  if (HAS_SCALE && GROUPS_PER_ROW == 1) factors.begin(scale, first_written, dim);
  const float r =
      rms_inv_of(folded_row_sum(squares, exchange, index), params.inverse_dim, params.eps);
  if (HAS_RMS_INV && index == 0 && share == 0) rms_inv[row_offset(at, params.rms_inv)] = r;
#pragma unroll
  for (uint v = 0; v < WRITTEN_PACKS; ++v) {
    const uint column = first_written + v * PACK_STEP;
    if (!HAS_Y || !is_written(v, column, dim)) break;
    RowPack s = written.pack(v);
    PackFloats values = multiply(s.floats(), splat<VECTOR_WIDTH>(r));
    if (ROUND_BEFORE_WEIGHT) {
      s.set(values);
      values = s.floats();
    }
    if (HAS_WEIGHT) {
      values = multiply(values, weight_factors(weights.packs[v % AHEAD]));
      weights.request(v + AHEAD, weight, first_written, dim);
    }
    if (HAS_SCALE) {
      values = multiply(values, factors.floats(v));
      factors.request(v + AHEAD, scale, first_written, dim);
    }
    store_floats(values, y + column);
  }
}
