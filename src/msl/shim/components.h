// SPDX-License-Identifier: MIT
// The members that vectors and packed vectors have in common: components, subscripts, swizzles.
#pragma once
#include "shim/config.h"
#include "shim/swizzle.h"
#include "shim/types.h"

namespace norite_msl {

/// A vector is aligned to its size, where three components take the room of four; a packed one is
/// aligned as its component is.
template <class T, int N, bool Packed>
inline constexpr int kAlignment = Packed ? alignof(T) : (N == 2 ? 2 : 4) * sizeof(T);

template <class T, int N, bool Packed>
struct Components;

// A component under both of its names.
#define NORITE_MSL_COMPONENT(position, colour) \
  union {                                      \
    T position;                                \
    T colour;                                  \
  };
// Constants are evaluated with the members x to w, which are the ones the constructors set; they
// lie side by side.
#define NORITE_MSL_SUBSCRIPT(chosen)                              \
  NORITE_MSL_INLINE constexpr T& operator[](uint i) {             \
    return __builtin_is_constant_evaluated() ? chosen : (&x)[i];  \
  }                                                               \
  NORITE_MSL_INLINE constexpr const T& operator[](uint i) const { \
    return __builtin_is_constant_evaluated() ? chosen : (&x)[i];  \
  }

template <class T, bool Packed>
struct alignas(kAlignment<T, 2, Packed>) Components<T, 2, Packed> {
  NORITE_MSL_COMPONENT(x, r)
  NORITE_MSL_COMPONENT(y, g)
  Components() = default;
  NORITE_MSL_INLINE constexpr Components(T x0, T y0) : x(x0), y(y0) {}
  NORITE_MSL_SUBSCRIPT((i == 0 ? x : y))
  NORITE_MSL_READ_SWIZZLES_2
  NORITE_MSL_WRITE_SWIZZLES_2
};

template <class T, bool Packed>
struct alignas(kAlignment<T, 3, Packed>) Components<T, 3, Packed> {
  NORITE_MSL_COMPONENT(x, r)
  NORITE_MSL_COMPONENT(y, g)
  NORITE_MSL_COMPONENT(z, b)
  Components() = default;
  NORITE_MSL_INLINE constexpr Components(T x0, T y0, T z0) : x(x0), y(y0), z(z0) {}
  NORITE_MSL_SUBSCRIPT((i == 0 ? x : i == 1 ? y : z))
  NORITE_MSL_READ_SWIZZLES_3
  NORITE_MSL_WRITE_SWIZZLES_3
};

template <class T, bool Packed>
struct alignas(kAlignment<T, 4, Packed>) Components<T, 4, Packed> {
  NORITE_MSL_COMPONENT(x, r)
  NORITE_MSL_COMPONENT(y, g)
  NORITE_MSL_COMPONENT(z, b)
  NORITE_MSL_COMPONENT(w, a)
  Components() = default;
  NORITE_MSL_INLINE constexpr Components(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
  NORITE_MSL_SUBSCRIPT((i == 0 ? x : i == 1 ? y : i == 2 ? z : w))
  NORITE_MSL_READ_SWIZZLES_4
  NORITE_MSL_WRITE_SWIZZLES_4
};
#undef NORITE_MSL_COMPONENT
#undef NORITE_MSL_SUBSCRIPT

}  // namespace norite_msl
