// SPDX-License-Identifier: MIT
// out[i] = sum over p of partial[p][i]
//
// A group takes COLUMNS neighbouring columns, so that what it reads of a partial is whole sectors
// of memory, and STRIPS threads share a column: strip k adds partials k, k + STRIPS, ... in order,
// then the strips add up as a tree. The order depends on the numbers of partials and columns alone.

#include <metal_stdlib>

#include "norm/params.h"

using namespace metal;

[[kernel, max_total_threads_per_threadgroup(COLUMNS * STRIPS)]]
void sum_partials(
    device const float* partial [[buffer(kSumPartialsIn)]],
    device OUT_TYPE* out [[buffer(kSumPartialsOut)]],
    constant SumPartialsParams& params [[buffer(kSumPartialsParams)]],
    uint group [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]]) {
  threadgroup float sums[COLUMNS * STRIPS];
  const long column = long(group) * COLUMNS + index % COLUMNS;
  const uint strip = index / COLUMNS;

  float sum = 0.0f;
  if (column < params.dim) {
    device const float* from = partial + strip * params.dim + column;
#pragma unroll 16
    for (long p = strip; p < params.partials; p += STRIPS) {
      sum += *from;
      from += STRIPS * params.dim;
    }
  }
  sums[index] = sum;
  for (uint half_strips = STRIPS / 2; half_strips > 0; half_strips /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (strip < half_strips) sums[index] += sums[index + half_strips * COLUMNS];
  }
  if (strip == 0 && column < params.dim) out[column] = OUT_TYPE(sums[index]);
}
