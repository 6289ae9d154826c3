// SPDX-License-Identifier: MIT
// metal_common, and what it shares with integers: abs, min, max, clamp, median3. For floating
// numbers min and max return the other operand when one is NaN.
#pragma once
#include "shim/config.h"
#include "shim/elementwise.h"
#include "shim/math.h"

namespace norite_msl {

template <class T>
NORITE_MSL_INLINE constexpr T least(T x, T y) {
  if constexpr (kScalar<T> == kFloating) {
    return T(fmin_f32(float(x), float(y)));
  } else {
    return y < x ? y : x;
  }
}
template <class T>
NORITE_MSL_INLINE constexpr T greatest(T x, T y) {
  if constexpr (kScalar<T> == kFloating) {
    return T(fmax_f32(float(x), float(y)));
  } else {
    return x < y ? y : x;
  }
}
template <class T>
NORITE_MSL_INLINE constexpr T magnitude(T x) {
  if constexpr (kScalar<T> == kFloating) {
    return T(fabs_f32(float(x)));
  } else {
    return T(x < T(0) ? -x : x);
  }
}
NORITE_MSL_INLINE constexpr float clamp_f32(float x, float low, float high) {
  return fmin_f32(fmax_f32(x, low), high);
}
NORITE_MSL_INLINE constexpr float smoothstep_f32(float low, float high, float x) {
  const float t = clamp_f32((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3.0f - 2.0f * t);
}

}  // namespace norite_msl

namespace metal {

template <class X, class R = norite_msl::common_t<X>>
NORITE_MSL_INLINE constexpr R abs(X x0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(NORITE_MSL_EACH(T x) { return norite_msl::magnitude(x); }, x0);
}

template <class X, class Y, class R = norite_msl::common_t<X, Y>>
NORITE_MSL_INLINE constexpr R min(X x0, Y y0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(NORITE_MSL_EACH(T x, T y) { return norite_msl::least(x, y); }, x0, y0);
}

template <class X, class Y, class R = norite_msl::common_t<X, Y>>
NORITE_MSL_INLINE constexpr R max(X x0, Y y0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x, T y) { return norite_msl::greatest(x, y); }, x0, y0);
}

template <class X, class Y, class Z, class R = norite_msl::common_t<X, Y, Z>>
NORITE_MSL_INLINE constexpr R clamp(X x, Y low, Z high) {
  return min(max(R(x), R(low)), R(high));
}

template <class X, class Y, class Z, class R = norite_msl::common_t<X, Y, Z>>
NORITE_MSL_INLINE constexpr R min3(X x, Y y, Z z) {
  return min(R(x), min(R(y), R(z)));
}

template <class X, class Y, class Z, class R = norite_msl::common_t<X, Y, Z>>
NORITE_MSL_INLINE constexpr R max3(X x, Y y, Z z) {
  return max(R(x), max(R(y), R(z)));
}

template <class X, class Y, class Z, class R = norite_msl::common_t<X, Y, Z>>
NORITE_MSL_INLINE constexpr R median3(X x, Y y, Z z) {
  return max(min(R(x), R(y)), min(max(R(x), R(y)), R(z)));
}

template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE constexpr R saturate(X x) {
  return min(max(R(x), R(0)), R(1));
}

/// 1, -1, or the zero itself; 0 for NaN.
template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE constexpr R sign(X x0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x) {
        return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? x : T(0);
      },
      x0);
}

template <class X, class Y, class A, class R = norite_msl::real_t<X, Y, A>>
NORITE_MSL_INLINE constexpr R mix(X x0, Y y0, A a0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x, T y, T a) { return T(float(x) + (float(y) - float(x)) * float(a)); }, x0,
      y0, a0);
}

template <class E, class X, class R = norite_msl::real_t<E, X>>
NORITE_MSL_INLINE constexpr R step(E edge0, X x0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T edge, T x) { return x < edge ? T(0) : T(1); }, edge0, x0);
}

template <class L, class H, class X, class R = norite_msl::real_t<L, H, X>>
NORITE_MSL_INLINE constexpr R smoothstep(L low0, H high0, X x0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T low, T high, T x) {
        return T(norite_msl::smoothstep_f32(float(low), float(high), float(x)));
      },
      low0, high0, x0);
}

}  // namespace metal
