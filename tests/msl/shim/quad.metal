// SPDX-License-Identifier: MIT
// Functions of a quad: four neighbouring lanes. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

kernel void quad(device float* out [[buffer(0)]], ushort lane [[thread_index_in_simdgroup]]) {
  const int i = lane + 1;

  out[0 + lane] = quad_sum(i);
  out[32 + lane] = quad_product(i);
  out[64 + lane] = quad_max(0.5f * i);
  out[96 + lane] = quad_min(i);
  out[128 + lane] = quad_and(lane);
  out[160 + lane] = quad_or(lane);
  out[192 + lane] = quad_xor(i);
  out[224 + lane] = quad_prefix_inclusive_sum(i);
  out[256 + lane] = quad_prefix_exclusive_sum(i);
  out[288 + lane] = quad_prefix_exclusive_product(i);
  out[320 + lane] = quad_broadcast(i, 2);
  out[352 + lane] = quad_broadcast_first(i);
  out[384 + lane] = quad_shuffle(i, ushort(3 - lane % 4));
  out[416 + lane] = quad_shuffle_xor(i, 1);
  out[448 + lane] = quad_shuffle_rotate_up(i, 1);
  out[480 + lane] = quad_shuffle_rotate_down(i, 1);
  out[512 + lane] = quad_shuffle_and_fill_up(i, -i, 1);
  out[544 + lane] = quad_shuffle_and_fill_down(i, -i, 1);
  out[576 + lane] = quad_shuffle_up(half2(i), 1).y * (lane % 4 > 0);
  out[608 + lane] = quad_all(lane < 30);
  out[640 + lane] = quad_any(lane == 30);
  out[672 + lane] = ulong(quad_ballot(lane % 4 == 2));
  out[704 + lane] = ulong(quad_active_threads_mask());
  out[736 + lane] = quad_is_first();
}
