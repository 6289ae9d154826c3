// SPDX-License-Identifier: MIT
// Atomic functions and fences. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

kernel void atomics(device float* out [[buffer(0)]], uint lane [[thread_index_in_threadgroup]]) {
  threadgroup atomic_int number;
  threadgroup atomic_uint bits;
  threadgroup atomic_uint smallest;
  threadgroup atomic_uint largest;
  threadgroup atomic_float total;
  threadgroup atomic_uint turns;
  device atomic_float* sums = reinterpret_cast<device atomic_float*>(out);
  if (lane == 0) {
    atomic_store_explicit(&number, 100, memory_order_relaxed);
    atomic_store_explicit(&bits, 0u, memory_order_relaxed);
    atomic_store_explicit(&smallest, UINT_MAX, memory_order_relaxed);
    atomic_store_explicit(&largest, 0u, memory_order_relaxed);
    atomic_store_explicit(&total, 0.0f, memory_order_relaxed);
    atomic_store_explicit(&turns, 0u, memory_order_relaxed);
    atomic_store_explicit(&sums[0], 0.5f, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);

  const int i = int(lane) + 1;
  atomic_fetch_add_explicit(&number, i, memory_order_relaxed);
  atomic_fetch_sub_explicit(&number, 1, memory_order_relaxed);
  atomic_fetch_or_explicit(&bits, 1u << (lane % 8), memory_order_relaxed);
  atomic_fetch_min_explicit(&smallest, lane + 5, memory_order_relaxed);
  atomic_fetch_max_explicit(&largest, lane + 5, memory_order_relaxed);
  atomic_fetch_add_explicit(&total, 0.25f, memory_order_relaxed);
  atomic_fetch_add_explicit(&sums[0], float(i), memory_order_relaxed);
  uint seen = atomic_load_explicit(&turns, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&turns, &seen, seen + 3, memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
  atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst,
                      thread_scope_threadgroup);
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  if (lane != 0) return;

  out[1] = atomic_load_explicit(&number, memory_order_relaxed);
  out[2] = atomic_load_explicit(&bits, memory_order_relaxed);
  out[3] = atomic_load_explicit(&smallest, memory_order_relaxed);
  out[4] = atomic_load_explicit(&largest, memory_order_relaxed);
  out[5] = atomic_load_explicit(&total, memory_order_relaxed);
  out[6] = atomic_load_explicit(&turns, memory_order_relaxed);
  out[7] = atomic_exchange_explicit(&number, 7, memory_order_relaxed);
  out[8] = atomic_fetch_and_explicit(&bits, 0xfu, memory_order_relaxed);
  out[9] = atomic_fetch_xor_explicit(&bits, 0x3u, memory_order_relaxed);
  out[10] = atomic_load_explicit(&bits, memory_order_relaxed);
  out[11] = atomic_load_explicit(&number, memory_order_relaxed);
  out[12] = sizeof(atomic_uint);
}
