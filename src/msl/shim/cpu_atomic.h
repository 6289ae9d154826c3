// SPDX-License-Identifier: MIT
// Atomic accesses. Kernels order memory by barriers and fences; the accesses themselves are
// relaxed. What the processor, or the instrumentation of checked mode, has no operation for is a
// loop around compare-and-exchange.
#pragma once
#include "shim/config.h"

namespace norite_msl {

template <class T>
NORITE_MSL_INLINE T load_atomic(const volatile T* object) {
  T value;
  __atomic_load(object, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
NORITE_MSL_INLINE void store_atomic(volatile T* object, T value) {
  __atomic_store(object, &value, __ATOMIC_RELAXED);
}
template <class T>
NORITE_MSL_INLINE T exchange_atomic(volatile T* object, T value) {
  T before;
  __atomic_exchange(object, &value, &before, __ATOMIC_RELAXED);
  return before;
}
/// May fail for no reason. `expected` is what was there.
template <class T>
NORITE_MSL_INLINE bool compare_exchange_atomic(volatile T* object, T& expected, T value) {
  return __atomic_compare_exchange(object, &expected, &value, true, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED);
}
template <class T>
NORITE_MSL_INLINE T add_atomic(volatile T* object, T operand) {
  return __atomic_fetch_add(object, operand, __ATOMIC_RELAXED);
}
template <class T>
NORITE_MSL_INLINE T and_atomic(volatile T* object, T operand) {
  return __atomic_fetch_and(object, operand, __ATOMIC_RELAXED);
}
template <class T>
NORITE_MSL_INLINE T or_atomic(volatile T* object, T operand) {
  return __atomic_fetch_or(object, operand, __ATOMIC_RELAXED);
}
template <class T>
NORITE_MSL_INLINE T xor_atomic(volatile T* object, T operand) {
  return __atomic_fetch_xor(object, operand, __ATOMIC_RELAXED);
}
/// Returns what was there before.
template <class Op, class T>
NORITE_MSL_INLINE T update_atomic(volatile T* object, T operand) {
  T before = load_atomic(object);
  while (!compare_exchange_atomic(object, before, Op()(before, operand))) {
  }
  return before;
}

}  // namespace norite_msl
