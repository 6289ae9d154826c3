// SPDX-License-Identifier: MIT
/* The softmax of each row, a threadgroup a row. Without a Mac:

norite kernel run examples/softmax.metal --groups 37 --threads 256 --checked \
      --arg 0=random:f32[37,300] --arg 1=zeros:f32[37,300] --arg 2=bytes:u32:300
*/
#include <metal_stdlib>
using namespace metal;

constant constexpr uint kWidth = 32;  // of a SIMD-group

struct Maximum {
  static constexpr constant float start = -INFINITY;
  float operator()(float a, float b) const thread { return max(a, b); }
  float over_lanes(float value) const thread { return simd_max(value); }
};

struct Sum {
  static constexpr constant float start = 0;
  float operator()(float a, float b) const thread { return a + b; }
  float over_lanes(float value) const thread { return simd_sum(value); }
};

/// What all threads of a group have, folded; `shared` has room for a value of each SIMD-group.
template <class Fold>
float fold(float value, threadgroup float* shared, uint lane, uint simd_group, uint simd_groups) {
  const Fold fold_two;
  value = fold_two.over_lanes(value);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // everyone has read what was there before
  if (lane == 0) shared[simd_group] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  value = shared[0];
  for (uint i = 1; i < simd_groups; ++i) value = fold_two(value, shared[i]);
  return value;
}

kernel void softmax(device const float* x [[buffer(0)]],
                    device float* y [[buffer(1)]],
                    constant uint& dim [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simd_group [[simdgroup_index_in_threadgroup]]) {
  threadgroup float shared[1024 / kWidth];
  const uint simd_groups = (threads + kWidth - 1) / kWidth;
  x += row * dim;
  y += row * dim;

  float largest = Maximum::start;
  for (uint i = thread_index; i < dim; i += threads) largest = max(largest, x[i]);
  largest = fold<Maximum>(largest, shared, lane, simd_group, simd_groups);

  float sum = Sum::start;
  for (uint i = thread_index; i < dim; i += threads) sum += exp(x[i] - largest);
  sum = fold<Sum>(sum, shared, lane, simd_group, simd_groups);

  for (uint i = thread_index; i < dim; i += threads) y[i] = exp(x[i] - largest) / sum;
}
