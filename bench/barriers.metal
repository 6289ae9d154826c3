// SPDX-License-Identifier: MIT
// Nothing but meetings: what a barrier and a SIMD-group sum cost a thread.
#include <metal_stdlib>
using namespace metal;

kernel void barriers(device uint* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  for (uint n = 0; n < 100; ++n) threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = i;
}

kernel void sums(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  float v = i;
  for (uint n = 0; n < 100; ++n) v = simd_sum(v) * 0.03f;
  x[i] = v;
}
