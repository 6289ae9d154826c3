// SPDX-License-Identifier: MIT
// metal_math. half and bfloat are computed in float and rounded once. All are templates, so that a
// kernel may add an overload of its own and have it preferred.
#pragma once
#include "shim/as_type.h"
#include "shim/config.h"
#include "shim/cpu_math.h"
#include "shim/elementwise.h"

namespace norite_msl {

/// The next representable number of T in the direction of `to`.
template <class T>
NORITE_MSL_INLINE constexpr T next_after(T from, T to) {
  if constexpr (sizeof(T) == 4) {
    return nextafter_f32(from, to);
  } else {
    if (from != from || to != to) return T(float(from) + float(to));
    if (from == to) return to;
    const ushort bits = __builtin_bit_cast(ushort, from);
    if ((bits & 0x7fff) == 0) return __builtin_bit_cast(T, ushort(to > from ? 1 : 0x8001));
    const bool away = (to > from) == (from > T(0));
    return __builtin_bit_cast(T, ushort(away ? bits + 1 : bits - 1));
  }
}

NORITE_MSL_INLINE float fract_f32(float x) {
  // 1 - tiny rounds to 1, which is not a fraction.
  const float fraction = x - floor_f32(x);
  return fraction == fraction ? fmin_f32(fraction, 0x1.fffffep-1f) : fraction;
}

NORITE_MSL_INLINE constexpr float fdim_f32(float x, float y) {
  return x != x || y != y ? x + y : (x > y ? x - y : 0.0f);
}

NORITE_MSL_INLINE constexpr float median_f32(float x, float y, float z) {
  return fmax_f32(fmin_f32(x, y), fmin_f32(fmax_f32(x, y), z));
}

}  // namespace norite_msl

namespace metal {

#define NORITE_MSL_MATH1(name, ...)                   \
  template <class X, class R = norite_msl::real_t<X>> \
  NORITE_MSL_INLINE constexpr R name(X x0) {          \
    using T = norite_msl::element_t<R>;               \
    return norite_msl::map<R>(                        \
        NORITE_MSL_EACH(T t) {                        \
          const float x = float(t);                   \
          return T(__VA_ARGS__);                      \
        },                                            \
        x0);                                          \
  }
#define NORITE_MSL_MATH2(name, ...)                               \
  template <class X, class Y, class R = norite_msl::real_t<X, Y>> \
  NORITE_MSL_INLINE constexpr R name(X x0, Y y0) {                \
    using T = norite_msl::element_t<R>;                           \
    return norite_msl::map<R>(                                    \
        NORITE_MSL_EACH(T t, T u) {                               \
          const float x = float(t), y = float(u);                 \
          return T(__VA_ARGS__);                                  \
        },                                                        \
        x0, y0);                                                  \
  }
#define NORITE_MSL_MATH3(name, ...)                                           \
  template <class X, class Y, class Z, class R = norite_msl::real_t<X, Y, Z>> \
  NORITE_MSL_INLINE constexpr R name(X x0, Y y0, Z z0) {                      \
    using T = norite_msl::element_t<R>;                                       \
    return norite_msl::map<R>(                                                \
        NORITE_MSL_EACH(T t, T u, T v) {                                      \
          const float x = float(t), y = float(u), z = float(v);               \
          return T(__VA_ARGS__);                                              \
        },                                                                    \
        x0, y0, z0);                                                          \
  }
#define NORITE_MSL_SAME1(name) NORITE_MSL_MATH1(name, norite_msl::name##_f32(x))
#define NORITE_MSL_SAME2(name) NORITE_MSL_MATH2(name, norite_msl::name##_f32(x, y))

NORITE_MSL_SAME1(acos)
NORITE_MSL_SAME1(acosh)
NORITE_MSL_SAME1(asin)
NORITE_MSL_SAME1(asinh)
NORITE_MSL_SAME1(atan)
NORITE_MSL_SAME1(atanh)
NORITE_MSL_SAME1(ceil)
NORITE_MSL_SAME1(cos)
NORITE_MSL_SAME1(cosh)
NORITE_MSL_SAME1(cospi)
NORITE_MSL_SAME1(exp)
NORITE_MSL_SAME1(exp2)
NORITE_MSL_SAME1(exp10)
NORITE_MSL_SAME1(fabs)
NORITE_MSL_SAME1(floor)
NORITE_MSL_SAME1(log)
NORITE_MSL_SAME1(log2)
NORITE_MSL_SAME1(log10)
NORITE_MSL_SAME1(rint)
NORITE_MSL_SAME1(round)
NORITE_MSL_SAME1(rsqrt)
NORITE_MSL_SAME1(sin)
NORITE_MSL_SAME1(sinh)
NORITE_MSL_SAME1(sinpi)
NORITE_MSL_SAME1(sqrt)
NORITE_MSL_SAME1(tan)
NORITE_MSL_SAME1(tanh)
NORITE_MSL_SAME1(tanpi)
NORITE_MSL_SAME1(trunc)
NORITE_MSL_SAME2(atan2)
NORITE_MSL_SAME2(copysign)
NORITE_MSL_SAME2(fdim)
NORITE_MSL_SAME2(fmax)
NORITE_MSL_SAME2(fmin)
NORITE_MSL_SAME2(fmod)
NORITE_MSL_SAME2(pow)
NORITE_MSL_MATH2(powr, norite_msl::pow_f32(x, y))
NORITE_MSL_MATH2(divide, x / y)
namespace fast {
NORITE_MSL_MATH2(divide, norite_msl::fast_divide_f32(x, y))
}
NORITE_MSL_MATH3(fma, norite_msl::fma_f32(x, y, z))
NORITE_MSL_MATH3(fmax3, norite_msl::fmax_f32(x, norite_msl::fmax_f32(y, z)))
NORITE_MSL_MATH3(fmin3, norite_msl::fmin_f32(x, norite_msl::fmin_f32(y, z)))
NORITE_MSL_MATH3(fmedian3, norite_msl::median_f32(x, y, z))
#undef NORITE_MSL_SAME1
#undef NORITE_MSL_SAME2

/// x - floor(x), less than 1 also after rounding to T.
template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE constexpr R fract(X x0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x) {
        const T below_one = norite_msl::next_after(T(1), T(0));
        const T fraction = T(norite_msl::fract_f32(float(x)));
        return fraction >= T(1) ? below_one : fraction;
      },
      x0);
}

template <class X, class Y, class R = norite_msl::real_t<X, Y>>
NORITE_MSL_INLINE constexpr R nextafter(X x0, Y y0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x, T y) { return norite_msl::next_after(x, y); }, x0, y0);
}

/// The sine; the cosine goes to the second argument.
template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE R sincos(X x, R& cosine) {
  cosine = cos(R(x));
  return sin(R(x));
}

/// The fraction, with the sign of x; the integral part goes to the second argument.
template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE R modf(X x0, R& whole) {
  using T = norite_msl::element_t<R>;
  const R x = R(x0);
  whole = trunc(x);
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x, T whole) {
        const float rest =
            norite_msl::fabs_f32(float(x)) == INFINITY ? 0.0f : float(x) - float(whole);
        return T(norite_msl::copysign_f32(rest, float(x)));
      },
      x, whole);
}

/// x = result * 2^exponent with the result in [0.5, 1).
template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE R frexp(X x, norite_msl::rebind_t<R, int>& exponent) {
  if constexpr (norite_msl::kIsVector<R>) {
    R result;
    for (int i = 0; i < norite_msl::kCount<R>; ++i) result[i] = frexp(x[i], exponent[i]);
    return result;
  } else {
    return R(norite_msl::frexp_f32(float(x), exponent));
  }
}

template <class X, class K, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE R ldexp(X x, K k) {
  if constexpr (norite_msl::kIsVector<R>) {
    R result;
    for (int i = 0; i < norite_msl::kCount<R>; ++i) result[i] = ldexp(x[i], k[i]);
    return result;
  } else {
    return R(norite_msl::ldexp_f32(float(x), int(k)));
  }
}

template <class X, class R = norite_msl::real_t<X>>
NORITE_MSL_INLINE norite_msl::rebind_t<R, int> ilogb(X x0) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(NORITE_MSL_EACH(T x) { return norite_msl::ilogb_f32(float(x)); }, x0);
}

#undef NORITE_MSL_MATH1
#undef NORITE_MSL_MATH2
#undef NORITE_MSL_MATH3

}  // namespace metal
