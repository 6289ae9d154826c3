// SPDX-License-Identifier: MIT
// Barriers and fences.
#pragma once
#include "shim/config.h"
#include "shim/cpu_meeting.h"

namespace metal {

enum class mem_flags : unsigned {
  mem_none = 0,
  mem_device = norite_msl::kDeviceMemory,
  mem_threadgroup = norite_msl::kThreadgroupMemory,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
};
NORITE_MSL_INLINE constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return mem_flags(unsigned(a) | unsigned(b));
}
NORITE_MSL_INLINE constexpr mem_flags operator&(mem_flags a, mem_flags b) {
  return mem_flags(unsigned(a) & unsigned(b));
}

enum memory_order {
  memory_order_relaxed,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst,
};
enum thread_scope {
  thread_scope_thread,
  thread_scope_simdgroup,
  thread_scope_threadgroup,
  thread_scope_device,
};

NORITE_MSL_COLLECTIVE void threadgroup_barrier(mem_flags flags,
                                               thread_scope = thread_scope_threadgroup) {
  norite_msl::meet_threadgroup(unsigned(flags));
}
NORITE_MSL_COLLECTIVE void simdgroup_barrier(mem_flags flags,
                                             thread_scope = thread_scope_simdgroup) {
  norite_msl::meet_simdgroup(unsigned(flags));
}
NORITE_MSL_INLINE void atomic_thread_fence(mem_flags, memory_order order,
                                           thread_scope = thread_scope_device) {
  if (order != memory_order_relaxed) norite_msl::fence_memory();
}

}  // namespace metal
