// SPDX-License-Identifier: MIT
// metal::fast and metal::precise: one precision serves all but quotients (math.h).
#pragma once
#include "shim/common.h"
#include "shim/geometric.h"
#include "shim/math.h"

#define NORITE_MSL_MATH_NAMES                                                                \
  using metal::abs, metal::acos, metal::acosh, metal::asin, metal::asinh, metal::atan;       \
  using metal::atan2, metal::atanh, metal::ceil, metal::clamp, metal::copysign, metal::cos;  \
  using metal::cosh, metal::cospi, metal::distance, metal::dot, metal::exp;                  \
  using metal::exp10, metal::exp2, metal::fabs, metal::fdim, metal::floor, metal::fma;       \
  using metal::fmax, metal::fmax3, metal::fmedian3, metal::fmin, metal::fmin3, metal::fmod;  \
  using metal::fract, metal::frexp, metal::ldexp, metal::length, metal::log, metal::log10;   \
  using metal::log2, metal::max, metal::max3, metal::median3, metal::min, metal::min3;       \
  using metal::mix, metal::modf, metal::normalize, metal::pow, metal::powr, metal::rint;     \
  using metal::round, metal::rsqrt, metal::saturate, metal::sign, metal::sin, metal::sincos; \
  using metal::sinh, metal::sinpi, metal::smoothstep, metal::sqrt, metal::step, metal::tan;  \
  using metal::tanh, metal::tanpi, metal::trunc;

namespace metal::fast {
NORITE_MSL_MATH_NAMES
}
namespace metal::precise {
NORITE_MSL_MATH_NAMES
using metal::divide;
}
#undef NORITE_MSL_MATH_NAMES
