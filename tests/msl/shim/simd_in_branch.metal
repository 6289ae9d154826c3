// SPDX-License-Identifier: MIT
// Functions of a simdgroup that only some of its lanes call: the others take no part. One group of
// 32 threads.
#include <metal_stdlib>
using namespace metal;

kernel void simd_in_branch(device float* out [[buffer(0)]],
                           ushort lane [[thread_index_in_simdgroup]]) {
  float some = 0;
  if (lane % 3 == 1) {
    some = simd_sum(lane + 1) + 1000 * simd_is_first();
  }
  out[lane] = some;
}
