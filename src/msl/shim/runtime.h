// SPDX-License-Identifier: MIT
// The executor's services as the kernel sees them.
#pragma once
#include "shim/abi.h"
#include "shim/config.h"

namespace norite_msl {

static Runtime runtime;

__attribute__((unused)) NORITE_MSL_UNCHECKED static void attach(const Runtime* services) {
  runtime = *services;
}

/// Called once in each turn of a loop; costs a read of a value that hardly ever changes.
#ifdef NORITE_MSL_CHECKED
__attribute__((noinline, unused)) NORITE_MSL_UNCHECKED static void poll_loop() {
#else
NORITE_MSL_INLINE void poll_loop() {
#endif
  if (__builtin_expect(*runtime.cancelling != 0, 0)) runtime.poll();
}

__attribute__((noinline, unused)) NORITE_MSL_UNCHECKED static void* threadgroup_memory(
    ThreadgroupVariable& variable, unsigned long bytes, unsigned long alignment) {
  return runtime.threadgroup_memory(&variable, bytes, alignment);
}

/// The group's own copy of a variable declared inside a function.
template <class T>
NORITE_MSL_INLINE T& threadgroup_variable(ThreadgroupVariable& variable) {
  return *static_cast<T*>(threadgroup_memory(variable, sizeof(T), alignof(T)));
}

}  // namespace norite_msl
