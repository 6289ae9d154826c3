// SPDX-License-Identifier: MIT
// CUDA only: sums that groups share while they run. A kernel that waits for other groups says
// [[cooperative(N)]]: all of its groups run at the same time, at least N on each multiprocessor, or
// none does.
#pragma once

#include <metal_stdlib>

using namespace metal;

/// A sum and a word that says it is there, in one access of 64 bits: neither needs a fence. The
/// memory is zero before.
struct SharedSum {
  ulong word;
};

METAL_FUNC void publish(device SharedSum* to, float value) {
  const ulong word = ulong(as_type<uint>(value)) << 32 | 1;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

METAL_FUNC float await(device const SharedSum* from) {
  ulong word = 0;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  } while ((word & 1) == 0);
  return as_type<float>(uint(word >> 32));
}

/// Two sums that lie side by side.
METAL_FUNC void publish(device SharedSum* to, float2 values) {
  const ulong x = ulong(as_type<uint>(values.x)) << 32 | 1;
  const ulong y = ulong(as_type<uint>(values.y)) << 32 | 1;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
               :
               : "l"(to), "l"(x), "l"(y)
               : "memory");
}

METAL_FUNC float2 await_pair(device const SharedSum* from) {
  ulong x = 0, y = 0;
  do {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(x), "=l"(y)
                 : "l"(from)
                 : "memory");
  } while ((x & y & 1) == 0);
  return float2(as_type<float>(uint(x >> 32)), as_type<float>(uint(y >> 32)));
}
