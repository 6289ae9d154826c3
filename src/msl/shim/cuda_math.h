// SPDX-License-Identifier: MIT
// The float functions everything in math.h is made of. Square roots and quotients are rounded
// correctly, as on the CPU; the rest is what CUDA has, within an ulp or two.
#pragma once
#include "shim/config.h"
#include "shim/constants.h"
#include "shim/types.h"

namespace norite_msl {

NORITE_MSL_INLINE constexpr float copysign_f32(float x, float y) {
  const uint magnitude = __builtin_bit_cast(uint, x) & 0x7fffffff;
  return __builtin_bit_cast(float, magnitude | (__builtin_bit_cast(uint, y) & 0x80000000));
}
NORITE_MSL_INLINE constexpr float fabs_f32(float x) {
  return __builtin_is_constant_evaluated() ? copysign_f32(x, 0.0f) : fabsf(x);
}
NORITE_MSL_INLINE constexpr float fmax_f32(float x, float y) {
  if (!__builtin_is_constant_evaluated()) return fmaxf(x, y);
  return x != x || x < y ? y : x;
}
NORITE_MSL_INLINE constexpr float fmin_f32(float x, float y) {
  if (!__builtin_is_constant_evaluated()) return fminf(x, y);
  return x != x || y < x ? y : x;
}

#define NORITE_MSL_UNARY(name) \
  NORITE_MSL_INLINE float name##_f32(float x) { return name##f(x); }
#define NORITE_MSL_BINARY(name) \
  NORITE_MSL_INLINE float name##_f32(float x, float y) { return name##f(x, y); }
NORITE_MSL_UNARY(acos)
NORITE_MSL_UNARY(acosh)
NORITE_MSL_UNARY(asin)
NORITE_MSL_UNARY(asinh)
NORITE_MSL_UNARY(atan)
NORITE_MSL_UNARY(atanh)
NORITE_MSL_UNARY(ceil)
NORITE_MSL_UNARY(cos)
NORITE_MSL_UNARY(cosh)
NORITE_MSL_UNARY(cospi)
NORITE_MSL_UNARY(exp)
NORITE_MSL_UNARY(exp2)
NORITE_MSL_UNARY(exp10)
NORITE_MSL_UNARY(floor)
NORITE_MSL_UNARY(log)
NORITE_MSL_UNARY(log2)
NORITE_MSL_UNARY(log10)
NORITE_MSL_UNARY(rint)
NORITE_MSL_UNARY(round)
NORITE_MSL_UNARY(sin)
NORITE_MSL_UNARY(sinh)
NORITE_MSL_UNARY(sinpi)
NORITE_MSL_UNARY(tan)
NORITE_MSL_UNARY(tanh)
NORITE_MSL_UNARY(trunc)
NORITE_MSL_BINARY(atan2)
NORITE_MSL_BINARY(fmod)
NORITE_MSL_BINARY(nextafter)
NORITE_MSL_BINARY(pow)
#undef NORITE_MSL_UNARY
#undef NORITE_MSL_BINARY

NORITE_MSL_INLINE float fast_divide_f32(float x, float y) { return __fdividef(x, y); }
NORITE_MSL_INLINE float sqrt_f32(float x) { return __fsqrt_rn(x); }
NORITE_MSL_INLINE float rsqrt_f32(float x) { return __frcp_rn(__fsqrt_rn(x)); }
NORITE_MSL_INLINE float fma_f32(float x, float y, float z) { return __fmaf_rn(x, y, z); }
NORITE_MSL_INLINE float tanpi_f32(float x) { return sinpif(x) / cospif(x); }
NORITE_MSL_INLINE float ldexp_f32(float x, int e) { return ldexpf(x, e); }
NORITE_MSL_INLINE float frexp_f32(float x, int& exponent) { return frexpf(x, &exponent); }
NORITE_MSL_INLINE int ilogb_f32(float x) { return ilogbf(x); }

}  // namespace norite_msl
