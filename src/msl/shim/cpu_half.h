// SPDX-License-Identifier: MIT
// The conversions clang calls for half and bfloat where the processor has no instruction for them.
// Older runtime libraries lack some, so every kernel brings its own.
#pragma once
#include "shim/config.h"
#include "shim/half_bits.h"
#include "shim/types.h"

#define NORITE_MSL_CONVERSION \
  extern "C" __attribute__((weak, visibility("hidden"), nodebug)) NORITE_MSL_UNCHECKED

namespace norite_msl {

/// To float with the last bit sticky, so that rounding once more gives what one rounding would.
NORITE_MSL_INLINE float round_to_odd(double x) {
  const float nearest = float(x);
  const double back = double(nearest);
  uint bits = __builtin_bit_cast(uint, nearest);
  if (back == x || x != x || (bits & 1)) return nearest;
  const bool away = (back > x) == (x > 0);
  bits += away ? -1 : 1;
  return __builtin_bit_cast(float, bits);
}

}  // namespace norite_msl

NORITE_MSL_CONVERSION half __truncsfhf2(float x) {
  return __builtin_bit_cast(half, norite_msl::half_bits(x));
}
NORITE_MSL_CONVERSION half __truncdfhf2(double x) {
  return __builtin_bit_cast(half, norite_msl::half_bits(norite_msl::round_to_odd(x)));
}
NORITE_MSL_CONVERSION float __extendhfsf2(half x) {
  return norite_msl::float_of_half_bits(__builtin_bit_cast(ushort, x));
}
NORITE_MSL_CONVERSION bfloat __truncsfbf2(float x) {
  return __builtin_bit_cast(bfloat, norite_msl::bfloat_bits(x));
}
NORITE_MSL_CONVERSION bfloat __truncdfbf2(double x) {
  return __builtin_bit_cast(bfloat, norite_msl::bfloat_bits(norite_msl::round_to_odd(x)));
}
#undef NORITE_MSL_CONVERSION
