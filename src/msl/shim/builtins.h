// SPDX-License-Identifier: MIT
// Names of Metal's own compiler that kernels in circulation call, mostly to give bfloat the
// functions it once lacked. The trailing int of a math function selects fast or precise.
#pragma once
#include "shim/as_type.h"
#include "shim/common.h"
#include "shim/config.h"
#include "shim/cpu_meeting.h"
#include "shim/math.h"
#include "shim/scalar_kind.h"
#include "shim/simd.h"
#include "shim/type_transforms.h"

#define NORITE_MSL_BUILTIN1(name)                   \
  template <class X>                                \
  NORITE_MSL_INLINE auto __metal_##name(X x, int) { \
    return metal::name(x);                          \
  }                                                 \
  template <class X>                                \
  NORITE_MSL_INLINE auto __metal_##name(X x) {      \
    return metal::name(x);                          \
  }
#define NORITE_MSL_BUILTIN2(name)                        \
  template <class X>                                     \
  NORITE_MSL_INLINE auto __metal_##name(X x, X y, int) { \
    return metal::name(x, y);                            \
  }                                                      \
  template <class X>                                     \
  NORITE_MSL_INLINE auto __metal_##name(X x, X y) {      \
    return metal::name(x, y);                            \
  }
#define NORITE_MSL_BUILTIN3(name)                             \
  template <class X>                                          \
  NORITE_MSL_INLINE auto __metal_##name(X x, X y, X z, int) { \
    return metal::name(x, y, z);                              \
  }                                                           \
  template <class X>                                          \
  NORITE_MSL_INLINE auto __metal_##name(X x, X y, X z) {      \
    return metal::name(x, y, z);                              \
  }

NORITE_MSL_BUILTIN1(acos)
NORITE_MSL_BUILTIN1(acosh)
NORITE_MSL_BUILTIN1(asin)
NORITE_MSL_BUILTIN1(asinh)
NORITE_MSL_BUILTIN1(atan)
NORITE_MSL_BUILTIN1(atanh)
NORITE_MSL_BUILTIN1(ceil)
NORITE_MSL_BUILTIN1(cos)
NORITE_MSL_BUILTIN1(cosh)
NORITE_MSL_BUILTIN1(cospi)
NORITE_MSL_BUILTIN1(exp)
NORITE_MSL_BUILTIN1(exp10)
NORITE_MSL_BUILTIN1(exp2)
NORITE_MSL_BUILTIN1(fabs)
NORITE_MSL_BUILTIN1(floor)
NORITE_MSL_BUILTIN1(fract)
NORITE_MSL_BUILTIN1(ilogb)
NORITE_MSL_BUILTIN1(log)
NORITE_MSL_BUILTIN1(log10)
NORITE_MSL_BUILTIN1(log2)
NORITE_MSL_BUILTIN1(rint)
NORITE_MSL_BUILTIN1(round)
NORITE_MSL_BUILTIN1(rsqrt)
NORITE_MSL_BUILTIN1(saturate)
NORITE_MSL_BUILTIN1(sign)
NORITE_MSL_BUILTIN1(sin)
NORITE_MSL_BUILTIN1(sinh)
NORITE_MSL_BUILTIN1(sinpi)
NORITE_MSL_BUILTIN1(sqrt)
NORITE_MSL_BUILTIN1(tan)
NORITE_MSL_BUILTIN1(tanh)
NORITE_MSL_BUILTIN1(tanpi)
NORITE_MSL_BUILTIN1(trunc)
NORITE_MSL_BUILTIN2(atan2)
NORITE_MSL_BUILTIN2(copysign)
NORITE_MSL_BUILTIN2(divide)
NORITE_MSL_BUILTIN2(fdim)
NORITE_MSL_BUILTIN2(fmax)
NORITE_MSL_BUILTIN2(fmin)
NORITE_MSL_BUILTIN2(fmod)
NORITE_MSL_BUILTIN2(nextafter)
NORITE_MSL_BUILTIN2(pow)
NORITE_MSL_BUILTIN2(powr)
NORITE_MSL_BUILTIN3(clamp)
NORITE_MSL_BUILTIN3(fma)
NORITE_MSL_BUILTIN3(fmax3)
NORITE_MSL_BUILTIN3(fmedian3)
NORITE_MSL_BUILTIN3(fmin3)
#undef NORITE_MSL_BUILTIN1
#undef NORITE_MSL_BUILTIN2
#undef NORITE_MSL_BUILTIN3

template <class X>
NORITE_MSL_INLINE auto __metal_ldexp(X x, int k, int) {
  return metal::ldexp(x, k);
}
template <class X>
NORITE_MSL_INLINE auto __metal_frexp(X x, int* exponent) {
  return metal::frexp(x, *exponent);
}
template <class X>
NORITE_MSL_INLINE auto __metal_modf(X x, X* whole) {
  return metal::modf(x, *whole);
}
template <class X>
NORITE_MSL_INLINE auto __metal_sincos(X x, X* cosine, int) {
  return metal::sincos(x, *cosine);
}

NORITE_MSL_INLINE ushort __metal_get_thread_index_in_simdgroup(ushort) {
  return ushort(norite_msl::lane_index());
}
NORITE_MSL_INLINE constexpr ushort __metal_get_simdgroup_size(ushort) {
  return norite_msl::kSimdWidth;
}

#define NORITE_MSL_LANES1(name)                    \
  template <class X>                               \
  NORITE_MSL_COLLECTIVE auto __metal_##name(X x) { \
    return metal::name(x);                         \
  }
// Kernels apply these to floating numbers too: their bits are combined.
#define NORITE_MSL_BITWISE_LANES(name)                                 \
  template <class X>                                                   \
  NORITE_MSL_COLLECTIVE X __metal_##name(X x) {                        \
    if constexpr (norite_msl::kScalar<X> == norite_msl::kFloating) {   \
      using Bits = metal::conditional_t<sizeof(X) == 2, ushort, uint>; \
      return metal::as_type<X>(metal::name(metal::as_type<Bits>(x)));  \
    } else {                                                           \
      return metal::name(x);                                           \
    }                                                                  \
  }
#define NORITE_MSL_LANES2(name)                                    \
  template <class X>                                               \
  NORITE_MSL_COLLECTIVE auto __metal_##name(X x, ushort operand) { \
    return metal::name(x, operand);                                \
  }
#define NORITE_MSL_LANES4(name)                                                            \
  template <class X>                                                                       \
  NORITE_MSL_COLLECTIVE auto __metal_##name(X x, X filling, ushort delta, ushort modulo) { \
    return metal::name(x, filling, delta, modulo);                                         \
  }
#define NORITE_MSL_LANE_BUILTINS(prefix)               \
  NORITE_MSL_BITWISE_LANES(prefix##_and)               \
  NORITE_MSL_LANES1(prefix##_broadcast_first)          \
  NORITE_MSL_LANES1(prefix##_max)                      \
  NORITE_MSL_LANES1(prefix##_min)                      \
  NORITE_MSL_BITWISE_LANES(prefix##_or)                \
  NORITE_MSL_LANES1(prefix##_prefix_exclusive_product) \
  NORITE_MSL_LANES1(prefix##_prefix_exclusive_sum)     \
  NORITE_MSL_LANES1(prefix##_prefix_inclusive_product) \
  NORITE_MSL_LANES1(prefix##_prefix_inclusive_sum)     \
  NORITE_MSL_LANES1(prefix##_product)                  \
  NORITE_MSL_LANES1(prefix##_sum)                      \
  NORITE_MSL_BITWISE_LANES(prefix##_xor)               \
  NORITE_MSL_LANES2(prefix##_broadcast)                \
  NORITE_MSL_LANES2(prefix##_shuffle)                  \
  NORITE_MSL_LANES2(prefix##_shuffle_down)             \
  NORITE_MSL_LANES2(prefix##_shuffle_rotate_down)      \
  NORITE_MSL_LANES2(prefix##_shuffle_rotate_up)        \
  NORITE_MSL_LANES2(prefix##_shuffle_up)               \
  NORITE_MSL_LANES2(prefix##_shuffle_xor)              \
  NORITE_MSL_LANES4(prefix##_shuffle_and_fill_down)    \
  NORITE_MSL_LANES4(prefix##_shuffle_and_fill_up)
NORITE_MSL_LANE_BUILTINS(simd)
NORITE_MSL_LANE_BUILTINS(quad)
#undef NORITE_MSL_LANES1
#undef NORITE_MSL_BITWISE_LANES
#undef NORITE_MSL_LANES2
#undef NORITE_MSL_LANES4
#undef NORITE_MSL_LANE_BUILTINS
