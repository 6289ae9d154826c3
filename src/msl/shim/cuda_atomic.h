// SPDX-License-Identifier: MIT
// Atomic accesses, relaxed. What the GPU has no operation for is a loop around compare-and-swap.
#pragma once
#include "shim/config.h"
#include "shim/lane_operations.h"
#include "shim/traits.h"

namespace norite_msl {

/// The type that CUDA's functions know a word of that size by.
template <class T>
using atomic_word_t = metal::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <class T>
NORITE_MSL_INLINE atomic_word_t<T>* atomic_word(volatile T* object) {
  static_assert(sizeof(T) >= 4, "a bool can be loaded and stored atomically, and no more");
  return reinterpret_cast<atomic_word_t<T>*>(const_cast<T*>(object));
}
template <class T>
NORITE_MSL_INLINE T from_word(atomic_word_t<T> word) {
  return __builtin_bit_cast(T, word);
}
template <class T>
NORITE_MSL_INLINE atomic_word_t<T> to_word(T value) {
  return __builtin_bit_cast(atomic_word_t<T>, value);
}

template <class T>
NORITE_MSL_INLINE T load_atomic(const volatile T* object) {
  return *object;
}
template <class T>
NORITE_MSL_INLINE void store_atomic(volatile T* object, T value) {
  *object = value;
}
template <class T>
NORITE_MSL_INLINE T exchange_atomic(volatile T* object, T value) {
  return from_word<T>(atomicExch(atomic_word(object), to_word(value)));
}
/// `expected` is what was there.
template <class T>
NORITE_MSL_INLINE bool compare_exchange_atomic(volatile T* object, T& expected, T value) {
  const auto wanted = to_word(expected);
  const auto before = atomicCAS(atomic_word(object), wanted, to_word(value));
  expected = from_word<T>(before);
  return before == wanted;
}
template <class T>
NORITE_MSL_INLINE T add_atomic(volatile T* object, T operand) {
  return from_word<T>(atomicAdd(atomic_word(object), to_word(operand)));
}
template <class T>
NORITE_MSL_INLINE T and_atomic(volatile T* object, T operand) {
  return from_word<T>(atomicAnd(atomic_word(object), to_word(operand)));
}
template <class T>
NORITE_MSL_INLINE T or_atomic(volatile T* object, T operand) {
  return from_word<T>(atomicOr(atomic_word(object), to_word(operand)));
}
template <class T>
NORITE_MSL_INLINE T xor_atomic(volatile T* object, T operand) {
  return from_word<T>(atomicXor(atomic_word(object), to_word(operand)));
}
/// Returns what was there before.
template <class Op, class T>
NORITE_MSL_INLINE T update_atomic(volatile T* object, T operand) {
  T* const plain = const_cast<T*>(object);
  constexpr bool kWord = metal::is_integral_v<T> && sizeof(T) == 4;
  if constexpr (metal::is_same_v<Op, Sum> && metal::is_same_v<T, float>) {
    return atomicAdd(plain, operand);
  } else if constexpr (metal::is_same_v<Op, Min> && kWord) {
    return atomicMin(plain, operand);
  } else if constexpr (metal::is_same_v<Op, Max> && kWord) {
    return atomicMax(plain, operand);
  } else {
    T before = load_atomic(object);
    while (!compare_exchange_atomic(object, before, Op()(before, operand))) {
    }
    return before;
  }
}

}  // namespace norite_msl
