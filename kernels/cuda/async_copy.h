// SPDX-License-Identifier: MIT
// CUDA only: copies from device memory to threadgroup memory, 16 bytes each, that go on while
// threads work. They take no registers, so that far more bytes are in flight than loads could keep
// there. COPY_CACHE is the caches that they go through: "ca" all, "cg" the L2 alone. Either way the
// L2 fetches whole lines: where rows begin inside of them, that is worth up to 2 % on an H200.
#pragma once

#include <metal_stdlib>

#if READS_STAY
#include "cuda/staying_reads.h"
#endif

using namespace metal;

#ifndef COPY_CACHE
#define COPY_CACHE "cg"
#endif

/// Copies of a thread's packs count from one address each, by distances known when compiled, which
/// are part of the instruction. Left alone, the compiler finds both anew for each of them: a dozen
/// instructions a copy.
METAL_FUNC uint copy_target(threadgroup void* to) { return uint(__cvta_generic_to_shared(to)); }

template <typename From>
METAL_FUNC device const From* copy_source(device const From* from) {
  asm volatile("" : "+l"(from));
  return from;
}

template <typename From>
METAL_FUNC void start_copy(uint target, device const From* from) {
#if READS_STAY
  if constexpr (kReadsStay) {
    asm volatile(
        "cp.async." COPY_CACHE ".shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;"
        :
        : "r"(target), "l"(from), "l"(kStays)
        : "memory");
    return;
  }
#endif
  asm volatile("cp.async." COPY_CACHE ".shared.global.L2::128B [%0], [%1], 16;"
               :
               : "r"(target), "l"(from)
               : "memory");
}

/// Makes one group of the copies that this thread has started since the last one; it may be empty.
METAL_FUNC void end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }

/// Until all groups of this thread's copies but the latest kBehind have arrived. Other threads see
/// them after a barrier.
template <uint kBehind>
METAL_FUNC void await_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kBehind) : "memory");
}

/// await_copies where an unrolled loop counts, up to kMost.
template <uint kMost>
METAL_FUNC void await_copies_but(uint behind) {
  if (behind >= kMost) {
    await_copies<kMost>();
  } else {
    await_copies_but<kMost - 1>(behind);
  }
}

template <>
METAL_FUNC void await_copies_but<0>(uint) {
  await_copies<0>();
}
