// SPDX-License-Identifier: MIT
// Where threads meet. Each of these functions is entered by the kernel's own call instruction, so
// that the return address names the place in the source.
#pragma once
#include "shim/config.h"
#include "shim/runtime.h"

namespace norite_msl {

NORITE_MSL_MEETING NORITE_MSL_UNCHECKED void meet_threadgroup(unsigned scopes) {
  runtime.threadgroup_barrier(scopes, __builtin_return_address(0));
}

NORITE_MSL_MEETING NORITE_MSL_UNCHECKED void meet_simdgroup(unsigned scopes) {
  runtime.simdgroup_barrier(scopes, __builtin_return_address(0));
}

NORITE_MSL_MEETING NORITE_MSL_UNCHECKED unsigned meet_lanes(void* value, unsigned bytes,
                                                            LaneExchange exchange) {
  return runtime.exchange(value, bytes, exchange, __builtin_return_address(0));
}

/// Everything before it is seen before everything after it.
NORITE_MSL_INLINE void fence_memory() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

__attribute__((noinline, unused)) NORITE_MSL_UNCHECKED static unsigned lane_index() {
  return runtime.place()->lane;
}

}  // namespace norite_msl
