// SPDX-License-Identifier: MIT
// metal_atomic.
#pragma once
#include "shim/barrier.h"
#include "shim/config.h"
#include "shim/cpu_atomic.h"
#include "shim/lane_operations.h"
#include "shim/traits.h"

namespace norite_msl {

/// Not deduced: the operand takes the type of the object, as in atomic_fetch_add(&counter, 1).
template <class T>
struct Fixed {
  using type = T;
};
template <class T>
using fixed_t = typename Fixed<T>::type;

}  // namespace norite_msl

namespace metal {

template <class T>
struct atomic {
  static_assert(is_arithmetic_v<T> && (sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8),
                "Metal has atomic int, uint, bool, ulong and float");
  T value;
};
using atomic_bool = atomic<bool>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;

template <class T>
NORITE_MSL_INLINE T atomic_load_explicit(const volatile atomic<T>* object, memory_order) {
  return norite_msl::load_atomic(&object->value);
}

template <class T>
NORITE_MSL_INLINE void atomic_store_explicit(volatile atomic<T>* object,
                                             norite_msl::fixed_t<T> desired, memory_order) {
  norite_msl::store_atomic(&object->value, desired);
}

template <class T>
NORITE_MSL_INLINE T atomic_exchange_explicit(volatile atomic<T>* object,
                                             norite_msl::fixed_t<T> desired, memory_order) {
  return norite_msl::exchange_atomic(&object->value, desired);
}

template <class T>
NORITE_MSL_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object,
                                                             T* expected,
                                                             norite_msl::fixed_t<T> desired,
                                                             memory_order, memory_order) {
  return norite_msl::compare_exchange_atomic(&object->value, *expected, desired);
}

template <class T>
NORITE_MSL_INLINE T atomic_fetch_add_explicit(volatile atomic<T>* object,
                                              norite_msl::fixed_t<T> operand, memory_order) {
  if constexpr (is_integral_v<T>) {
    return norite_msl::add_atomic(&object->value, operand);
  } else {
    return norite_msl::update_atomic<norite_msl::Sum>(&object->value, operand);
  }
}

template <class T>
NORITE_MSL_INLINE T atomic_fetch_sub_explicit(volatile atomic<T>* object,
                                              norite_msl::fixed_t<T> operand, memory_order order) {
  return atomic_fetch_add_explicit(object, T(-operand), order);
}

template <class T>
NORITE_MSL_INLINE T atomic_fetch_min_explicit(volatile atomic<T>* object,
                                              norite_msl::fixed_t<T> operand, memory_order) {
  return norite_msl::update_atomic<norite_msl::Min>(&object->value, operand);
}

template <class T>
NORITE_MSL_INLINE T atomic_fetch_max_explicit(volatile atomic<T>* object,
                                              norite_msl::fixed_t<T> operand, memory_order) {
  return norite_msl::update_atomic<norite_msl::Max>(&object->value, operand);
}

// Metal's operations on 64 bits, which return nothing.
template <class T>
NORITE_MSL_INLINE void atomic_min_explicit(volatile atomic<T>* object,
                                           norite_msl::fixed_t<T> operand, memory_order) {
  norite_msl::update_atomic<norite_msl::Min>(&object->value, operand);
}
template <class T>
NORITE_MSL_INLINE void atomic_max_explicit(volatile atomic<T>* object,
                                           norite_msl::fixed_t<T> operand, memory_order) {
  norite_msl::update_atomic<norite_msl::Max>(&object->value, operand);
}

#define NORITE_MSL_BITWISE(name)                                                  \
  template <class T, enable_if_t<is_integral_v<T>, int> = 0>                      \
  NORITE_MSL_INLINE T atomic_fetch_##name##_explicit(                             \
      volatile atomic<T>* object, norite_msl::fixed_t<T> operand, memory_order) { \
    return norite_msl::name##_atomic(&object->value, operand);                    \
  }
NORITE_MSL_BITWISE(and)
NORITE_MSL_BITWISE(or)
NORITE_MSL_BITWISE(xor)
#undef NORITE_MSL_BITWISE

}  // namespace metal

using metal::atomic_bool;
using metal::atomic_float;
using metal::atomic_int;
using metal::atomic_uint;
using metal::atomic_ulong;
