// SPDX-License-Identifier: MIT
// metal_relational.
#pragma once
#include "shim/config.h"
#include "shim/constants.h"
#include "shim/cpu_math.h"
#include "shim/elementwise.h"
#include "shim/numeric_limits.h"

namespace metal {

#define NORITE_MSL_TEST(name, ...)                               \
  template <class X, class R = norite_msl::real_t<X>>            \
  NORITE_MSL_INLINE constexpr norite_msl::bool_t<R> name(X x0) { \
    using T = norite_msl::element_t<R>;                          \
    return norite_msl::map<R>(                                   \
        NORITE_MSL_EACH(T t) {                                   \
          const float x = float(t);                              \
          return bool(__VA_ARGS__);                              \
        },                                                       \
        x0);                                                     \
  }
NORITE_MSL_TEST(isnan, x != x)
NORITE_MSL_TEST(isinf, norite_msl::fabs_f32(x) == INFINITY)
NORITE_MSL_TEST(isfinite, norite_msl::fabs_f32(x) < INFINITY)
NORITE_MSL_TEST(isnormal, norite_msl::fabs_f32(x) >= float(numeric_limits<T>::min()) &&
                              norite_msl::fabs_f32(x) < INFINITY)
NORITE_MSL_TEST(signbit, __builtin_bit_cast(uint, x) >> 31)
#undef NORITE_MSL_TEST

template <class X, class Y, class R = norite_msl::real_t<X, Y>>
NORITE_MSL_INLINE constexpr norite_msl::bool_t<R> isordered(X x0, Y y0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(NORITE_MSL_EACH(T x, T y) { return x == x && y == y; }, x0, y0);
}

template <class X, class Y, class R = norite_msl::real_t<X, Y>>
NORITE_MSL_INLINE constexpr norite_msl::bool_t<R> isunordered(X x0, Y y0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(NORITE_MSL_EACH(T x, T y) { return x != x || y != y; }, x0, y0);
}

template <int N>
NORITE_MSL_INLINE constexpr bool all(vec<bool, N> x) {
  if constexpr (N == 2) return x.x && x.y;
  if constexpr (N == 3) return x.x && x.y && x.z;
  if constexpr (N == 4) return x.x && x.y && x.z && x.w;
}
NORITE_MSL_INLINE constexpr bool all(bool x) { return x; }

template <int N>
NORITE_MSL_INLINE constexpr bool any(vec<bool, N> x) {
  return !all(!x);
}
NORITE_MSL_INLINE constexpr bool any(bool x) { return x; }

/// b where c is true, else a.
template <class A, class B, class C, class R = norite_msl::common_t<A, B>,
          enable_if_t<is_same_v<C, norite_msl::bool_t<R>> || !norite_msl::kIsVector<C>, int> = 0>
NORITE_MSL_INLINE constexpr R select(A a0, B b0, C c0) {
  if constexpr (norite_msl::kIsVector<C>) {
    const R a = R(a0), b = R(b0);
    if constexpr (norite_msl::kCount<R> == 2) {
      return R(c0.x ? b.x : a.x, c0.y ? b.y : a.y);
    } else if constexpr (norite_msl::kCount<R> == 3) {
      return R(c0.x ? b.x : a.x, c0.y ? b.y : a.y, c0.z ? b.z : a.z);
    } else {
      return R(c0.x ? b.x : a.x, c0.y ? b.y : a.y, c0.z ? b.z : a.z, c0.w ? b.w : a.w);
    }
  } else {
    return c0 ? R(b0) : R(a0);
  }
}

}  // namespace metal
