// SPDX-License-Identifier: MIT
// The float functions everything in math.h is made of. They lower to instructions or to libm.
#pragma once
#include "shim/config.h"
#include "shim/constants.h"

namespace norite_msl {

#define NORITE_MSL_UNARY(constant, name) \
  NORITE_MSL_INLINE constant float name##_f32(float x) { return __builtin_##name##f(x); }
#define NORITE_MSL_BINARY(constant, name)                         \
  NORITE_MSL_INLINE constant float name##_f32(float x, float y) { \
    return __builtin_##name##f(x, y);                             \
  }

// clang evaluates these four in constants too.
NORITE_MSL_UNARY(constexpr, fabs)
NORITE_MSL_BINARY(constexpr, copysign)
NORITE_MSL_BINARY(constexpr, fmax)
NORITE_MSL_BINARY(constexpr, fmin)
NORITE_MSL_UNARY(, acos)
NORITE_MSL_UNARY(, acosh)
NORITE_MSL_UNARY(, asin)
NORITE_MSL_UNARY(, asinh)
NORITE_MSL_UNARY(, atan)
NORITE_MSL_UNARY(, atanh)
NORITE_MSL_UNARY(, ceil)
NORITE_MSL_UNARY(, cos)
NORITE_MSL_UNARY(, cosh)
NORITE_MSL_UNARY(, exp)
NORITE_MSL_UNARY(, exp2)
NORITE_MSL_UNARY(, exp10)
NORITE_MSL_UNARY(, floor)
NORITE_MSL_UNARY(, log)
NORITE_MSL_UNARY(, log2)
NORITE_MSL_UNARY(, log10)
NORITE_MSL_UNARY(, rint)
NORITE_MSL_UNARY(, round)
NORITE_MSL_UNARY(, sin)
NORITE_MSL_UNARY(, sinh)
NORITE_MSL_UNARY(, sqrt)
NORITE_MSL_UNARY(, tan)
NORITE_MSL_UNARY(, tanh)
NORITE_MSL_UNARY(, trunc)
NORITE_MSL_BINARY(, atan2)
NORITE_MSL_BINARY(, fmod)
NORITE_MSL_BINARY(, nextafter)
NORITE_MSL_BINARY(, pow)
#undef NORITE_MSL_UNARY
#undef NORITE_MSL_BINARY

NORITE_MSL_INLINE float fma_f32(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
NORITE_MSL_INLINE float fast_divide_f32(float x, float y) { return x / y; }
NORITE_MSL_INLINE float rsqrt_f32(float x) { return 1.0f / __builtin_sqrtf(x); }
NORITE_MSL_INLINE float ldexp_f32(float x, int e) { return __builtin_ldexpf(x, e); }
NORITE_MSL_INLINE float frexp_f32(float x, int& exponent) {
  // C leaves the exponent open for infinity and NaN.
  if (!(__builtin_fabsf(x) < INFINITY)) {
    exponent = 0;
    return x;
  }
  return __builtin_frexpf(x, &exponent);
}
NORITE_MSL_INLINE int ilogb_f32(float x) { return __builtin_ilogbf(x); }

// The argument is reduced exactly before pi comes in, so that integers and halves give exact zeros
// and ones; the product with pi is made in double and rounded once.
NORITE_MSL_INLINE float sinpi_f32(float x) {
  const float turn = x - 2.0f * __builtin_rintf(0.5f * x);  // [-1, 1]
  if (turn == __builtin_truncf(turn)) return __builtin_copysignf(0.0f, x);
  return float(__builtin_sin(3.14159265358979323846 * double(turn)));
}
NORITE_MSL_INLINE float cospi_f32(float x) {
  const float turn = __builtin_fabsf(x - 2.0f * __builtin_rintf(0.5f * x));  // [0, 1]
  if (turn == 0.5f) return 0.0f;
  return float(__builtin_cos(3.14159265358979323846 * double(turn)));
}
NORITE_MSL_INLINE float tanpi_f32(float x) { return sinpi_f32(x) / cospi_f32(x); }

}  // namespace norite_msl
