// SPDX-License-Identifier: MIT
// Where threads meet. Threads that have returned are not waited for.
#pragma once
#include "shim/abi.h"
#include "shim/config.h"

namespace norite_msl {

// Both order device memory as well as shared memory among the threads that meet.
NORITE_MSL_INLINE void meet_threadgroup(unsigned) { __syncthreads(); }
NORITE_MSL_INLINE void meet_simdgroup(unsigned) { __syncwarp(); }

/// Everything before it is seen before everything after it.
NORITE_MSL_INLINE void fence_memory() { __threadfence(); }

NORITE_MSL_INLINE unsigned lane_index() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

}  // namespace norite_msl
