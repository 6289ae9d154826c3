// SPDX-License-Identifier: MIT
// Functions of a simdgroup. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

kernel void simd(device float* out [[buffer(0)]], ushort lane [[thread_index_in_simdgroup]]) {
  const int i = lane + 1;

  // Reductions: float sums in the order of a butterfly of xor shuffles by 16, 8, 4, 2, 1.
  out[0 + lane] = simd_sum(i);
  out[32 + lane] = simd_sum(0.1f * lane);
  out[64 + lane] = simd_sum(half(0.1h) * half(lane));
  out[96 + lane] = simd_sum(float4(i, 1, 2, 3)).x;
  out[128 + lane] = simd_product(lane < 4 ? i : 1);
  out[160 + lane] = simd_max(lane == 7 ? 9.5f : -1.0f * i);
  out[192 + lane] = simd_min(lane == 7 ? 9.5f : -1.0f * i);
  out[224 + lane] = simd_max(lane == 3 ? NAN : float(lane));
  out[256 + lane] = simd_min(ushort(100 + lane));
  out[288 + lane] = simd_and(0xff00 | i);
  out[320 + lane] = simd_or(1u << (lane % 8));
  out[352 + lane] = simd_xor(lane == 9 ? 12 : 0);

  // Scans.
  out[384 + lane] = simd_prefix_inclusive_sum(i);
  out[416 + lane] = simd_prefix_exclusive_sum(i);
  out[448 + lane] = simd_prefix_inclusive_product(lane < 5 ? i : 1);
  out[480 + lane] = simd_prefix_exclusive_product(lane < 5 ? i : 1);

  // Shuffles, where every lane reads one that exists.
  out[512 + lane] = simd_broadcast(i, 5);
  out[544 + lane] = simd_broadcast_first(i);
  out[576 + lane] = simd_shuffle(i, ushort(31 - lane));
  out[608 + lane] = simd_shuffle_xor(i, 3);
  out[640 + lane] = simd_shuffle_up(i, 2) * (lane >= 2);
  out[672 + lane] = simd_shuffle_rotate_up(i, 3);
  out[704 + lane] = simd_shuffle_rotate_down(i, 3);
  out[736 + lane] = simd_shuffle_and_fill_up(i, -i, 2);
  out[768 + lane] = simd_shuffle_and_fill_down(i, -i, 2);
  out[800 + lane] = simd_shuffle_and_fill_up(i, -i, 1, 8);
  out[832 + lane] = simd_shuffle_xor(float2(i, -i), 16).y;
  out[864 + lane] = simd_shuffle_down(i, 1) * (lane < 31);
  out[896 + lane] = simd_broadcast(bfloat(float(lane)), 9);

  // Votes.
  out[928 + lane] = simd_all(i > 0);
  out[960 + lane] = simd_all(lane < 31);
  out[992 + lane] = simd_any(lane == 31);
  out[1024 + lane] = simd_any(lane > 31);
  out[1056 + lane] = ulong(simd_ballot(lane % 2 == 1)) == 0xaaaaaaaaul;
  out[1088 + lane] = simd_ballot(lane < 40).all();
  out[1120 + lane] = ulong(simd_active_threads_mask()) == 0xfffffffful;
  out[1152 + lane] = simd_is_first();
}
