// SPDX-License-Identifier: MIT
// metal::array and metal::uniform.
#pragma once
#include "shim/config.h"
#include "shim/types.h"

namespace metal {

template <class T, size_t N>
struct array {
  T elements[N];

  NORITE_MSL_INLINE constexpr T& operator[](size_t i) { return elements[i]; }
  NORITE_MSL_INLINE constexpr const T& operator[](size_t i) const { return elements[i]; }
  NORITE_MSL_INLINE constexpr size_t size() const { return N; }
  NORITE_MSL_INLINE constexpr bool empty() const { return N == 0; }
  NORITE_MSL_INLINE constexpr T* data() { return elements; }
  NORITE_MSL_INLINE constexpr const T* data() const { return elements; }
  NORITE_MSL_INLINE constexpr T* begin() { return elements; }
  NORITE_MSL_INLINE constexpr const T* begin() const { return elements; }
  NORITE_MSL_INLINE constexpr T* end() { return elements + N; }
  NORITE_MSL_INLINE constexpr const T* end() const { return elements + N; }
  NORITE_MSL_INLINE constexpr T& front() { return elements[0]; }
  NORITE_MSL_INLINE constexpr const T& front() const { return elements[0]; }
  NORITE_MSL_INLINE constexpr T& back() { return elements[N - 1]; }
  NORITE_MSL_INLINE constexpr const T& back() const { return elements[N - 1]; }
};

/// A promise that all threads hold the same value, which nothing here relies on.
template <class T>
using uniform = T;
template <class T>
NORITE_MSL_INLINE constexpr T make_uniform(T x) {
  return x;
}

}  // namespace metal
