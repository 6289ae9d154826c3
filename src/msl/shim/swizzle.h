// SPDX-License-Identifier: MIT
// What `v.xyz` becomes: swizzle_xyz() where it is read, swizzle_ref_xyz() where it is assigned to.
// The macros below write out every sequence of two to four components.
#pragma once
#include "shim/config.h"
#include "shim/types.h"

namespace metal {
template <class T, int N>
struct vec;
}

namespace norite_msl {

/// Some components of a vector, to be assigned to.
template <class T, int N>
struct SwizzleReference {
  using Value = metal::vec<T, N>;
  T* component[N];

  NORITE_MSL_INLINE constexpr operator Value() const {
    if constexpr (N == 2) {
      return Value(*component[0], *component[1]);
    } else if constexpr (N == 3) {
      return Value(*component[0], *component[1], *component[2]);
    } else {
      return Value(*component[0], *component[1], *component[2], *component[3]);
    }
  }
  NORITE_MSL_INLINE constexpr Value operator=(Value value) const {
    for (int i = 0; i < N; ++i) *component[i] = value[i];
    return value;
  }
  NORITE_MSL_INLINE constexpr Value operator=(const SwizzleReference& other) const {
    return *this = Value(other);
  }
#define NORITE_MSL_COMPOUND(op)                                        \
  template <class X>                                                   \
  NORITE_MSL_INLINE constexpr Value operator op##=(const X& x) const { \
    return *this = Value(Value(*this) op x);                           \
  }
  NORITE_MSL_COMPOUND(+)
  NORITE_MSL_COMPOUND(-)
  NORITE_MSL_COMPOUND(*)
  NORITE_MSL_COMPOUND(/)
  NORITE_MSL_COMPOUND(%)
  NORITE_MSL_COMPOUND(&)
  NORITE_MSL_COMPOUND(|)
  NORITE_MSL_COMPOUND(^)
  NORITE_MSL_COMPOUND(<<)
  NORITE_MSL_COMPOUND(>>)
#undef NORITE_MSL_COMPOUND
};

}  // namespace norite_msl

// NORITE_MSL_READ_SWIZZLES_n and NORITE_MSL_WRITE_SWIZZLES_n stand inside a class with components
// of type T.
#define NORITE_MSL_READ2(a, b) \
  NORITE_MSL_INLINE constexpr metal::vec<T, 2> swizzle_##a##b() const { return {a, b}; }
#define NORITE_MSL_READ3(a, b, c) \
  NORITE_MSL_INLINE constexpr metal::vec<T, 3> swizzle_##a##b##c() const { return {a, b, c}; }
#define NORITE_MSL_READ4(a, b, c, d) \
  NORITE_MSL_INLINE constexpr metal::vec<T, 4> swizzle_##a##b##c##d() const { return {a, b, c, d}; }

// F applied to the letters chosen so far and each component of a vector of n. One macro for each
// depth, since none expands inside itself.
#define NORITE_MSL_SECOND_OF_2(F, a) F(a, x) F(a, y)
#define NORITE_MSL_SECOND_OF_3(F, a) NORITE_MSL_SECOND_OF_2(F, a) F(a, z)
#define NORITE_MSL_SECOND_OF_4(F, a) NORITE_MSL_SECOND_OF_3(F, a) F(a, w)
#define NORITE_MSL_THIRD_OF_2(F, a, b) F(a, b, x) F(a, b, y)
#define NORITE_MSL_THIRD_OF_3(F, a, b) NORITE_MSL_THIRD_OF_2(F, a, b) F(a, b, z)
#define NORITE_MSL_THIRD_OF_4(F, a, b) NORITE_MSL_THIRD_OF_3(F, a, b) F(a, b, w)
#define NORITE_MSL_FOURTH_OF_2(F, a, b, c) F(a, b, c, x) F(a, b, c, y)
#define NORITE_MSL_FOURTH_OF_3(F, a, b, c) NORITE_MSL_FOURTH_OF_2(F, a, b, c) F(a, b, c, z)
#define NORITE_MSL_FOURTH_OF_4(F, a, b, c) NORITE_MSL_FOURTH_OF_3(F, a, b, c) F(a, b, c, w)

#define NORITE_MSL_FROM3_OF_2(a, b, c) \
  NORITE_MSL_READ3(a, b, c) NORITE_MSL_FOURTH_OF_2(NORITE_MSL_READ4, a, b, c)
#define NORITE_MSL_FROM3_OF_3(a, b, c) \
  NORITE_MSL_READ3(a, b, c) NORITE_MSL_FOURTH_OF_3(NORITE_MSL_READ4, a, b, c)
#define NORITE_MSL_FROM3_OF_4(a, b, c) \
  NORITE_MSL_READ3(a, b, c) NORITE_MSL_FOURTH_OF_4(NORITE_MSL_READ4, a, b, c)
#define NORITE_MSL_FROM2_OF_2(a, b) \
  NORITE_MSL_READ2(a, b) NORITE_MSL_THIRD_OF_2(NORITE_MSL_FROM3_OF_2, a, b)
#define NORITE_MSL_FROM2_OF_3(a, b) \
  NORITE_MSL_READ2(a, b) NORITE_MSL_THIRD_OF_3(NORITE_MSL_FROM3_OF_3, a, b)
#define NORITE_MSL_FROM2_OF_4(a, b) \
  NORITE_MSL_READ2(a, b) NORITE_MSL_THIRD_OF_4(NORITE_MSL_FROM3_OF_4, a, b)
#define NORITE_MSL_FROM_OF_2(a) NORITE_MSL_SECOND_OF_2(NORITE_MSL_FROM2_OF_2, a)
#define NORITE_MSL_FROM_OF_3(a) NORITE_MSL_SECOND_OF_3(NORITE_MSL_FROM2_OF_3, a)
#define NORITE_MSL_FROM_OF_4(a) NORITE_MSL_SECOND_OF_4(NORITE_MSL_FROM2_OF_4, a)

#define NORITE_MSL_READ_SWIZZLES_2 NORITE_MSL_FROM_OF_2(x) NORITE_MSL_FROM_OF_2(y)
#define NORITE_MSL_READ_SWIZZLES_3 \
  NORITE_MSL_FROM_OF_3(x) NORITE_MSL_FROM_OF_3(y) NORITE_MSL_FROM_OF_3(z)
#define NORITE_MSL_READ_SWIZZLES_4 \
  NORITE_MSL_FROM_OF_4(x) NORITE_MSL_FROM_OF_4(y) NORITE_MSL_FROM_OF_4(z) NORITE_MSL_FROM_OF_4(w)

// No component twice. The macros give every order of the letters they are given.
#define NORITE_MSL_WRITE2(a, b) \
  NORITE_MSL_INLINE constexpr SwizzleReference<T, 2> swizzle_ref_##a##b() { return {{&a, &b}}; }
#define NORITE_MSL_WRITE3(a, b, c)                                             \
  NORITE_MSL_INLINE constexpr SwizzleReference<T, 3> swizzle_ref_##a##b##c() { \
    return {{&a, &b, &c}};                                                     \
  }
#define NORITE_MSL_WRITE4(a, b, c, d)                                             \
  NORITE_MSL_INLINE constexpr SwizzleReference<T, 4> swizzle_ref_##a##b##c##d() { \
    return {{&a, &b, &c, &d}};                                                    \
  }
// clang-format off
#define NORITE_MSL_ORDERS2(a, b) NORITE_MSL_WRITE2(a, b) NORITE_MSL_WRITE2(b, a)
#define NORITE_MSL_ORDERS3(a, b, c)                     \
  NORITE_MSL_WRITE3(a, b, c) NORITE_MSL_WRITE3(a, c, b) \
  NORITE_MSL_WRITE3(b, a, c) NORITE_MSL_WRITE3(b, c, a) \
  NORITE_MSL_WRITE3(c, a, b) NORITE_MSL_WRITE3(c, b, a)
#define NORITE_MSL_ORDERS4_FROM(a, b, c, d)                   \
  NORITE_MSL_WRITE4(a, b, c, d) NORITE_MSL_WRITE4(a, b, d, c) \
  NORITE_MSL_WRITE4(a, c, b, d) NORITE_MSL_WRITE4(a, c, d, b) \
  NORITE_MSL_WRITE4(a, d, b, c) NORITE_MSL_WRITE4(a, d, c, b)

#define NORITE_MSL_WRITE_SWIZZLES_2 NORITE_MSL_ORDERS2(x, y)
#define NORITE_MSL_WRITE_SWIZZLES_3                                          \
  NORITE_MSL_ORDERS2(x, y) NORITE_MSL_ORDERS2(x, z) NORITE_MSL_ORDERS2(y, z) \
  NORITE_MSL_ORDERS3(x, y, z)
#define NORITE_MSL_WRITE_SWIZZLES_4                                                   \
  NORITE_MSL_WRITE_SWIZZLES_3                                                         \
  NORITE_MSL_ORDERS2(x, w) NORITE_MSL_ORDERS2(y, w) NORITE_MSL_ORDERS2(z, w)          \
  NORITE_MSL_ORDERS3(x, y, w) NORITE_MSL_ORDERS3(x, z, w) NORITE_MSL_ORDERS3(y, z, w) \
  NORITE_MSL_ORDERS4_FROM(x, y, z, w) NORITE_MSL_ORDERS4_FROM(y, x, z, w)             \
  NORITE_MSL_ORDERS4_FROM(z, x, y, w) NORITE_MSL_ORDERS4_FROM(w, x, y, z)
// clang-format on
