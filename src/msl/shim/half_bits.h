// SPDX-License-Identifier: MIT
// half and bfloat by integer arithmetic. Rounds to nearest even; a NaN stays a NaN and becomes
// quiet.
#pragma once
#include "shim/config.h"
#include "shim/types.h"

namespace norite_msl {

/// Drops the lowest `bits` of a magnitude whose bit pattern grows with its value.
NORITE_MSL_INLINE constexpr uint round_bits(uint pattern, uint bits) {
  const uint odd = (pattern >> bits) & 1;
  return (pattern + ((1u << (bits - 1)) - 1) + odd) >> bits;
}

NORITE_MSL_INLINE constexpr ushort half_bits(float x) {
  const uint bits = __builtin_bit_cast(uint, x);
  const uint sign = (bits >> 16) & 0x8000;
  const uint magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return ushort(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x477ff000) return ushort(sign | 0x7c00);  // 65520 and above
  if (magnitude < 0x33000000) return ushort(sign);            // below half the least denormal
  if (magnitude < 0x38800000) {                               // denormal: units of 2^-24
    const uint shift = 126 - (magnitude >> 23);
    const uint mantissa = (magnitude & 0x7fffff) | 0x800000;
    return ushort(sign | round_bits(mantissa, shift));
  }
  return ushort(sign | round_bits(magnitude - 0x38000000, 13));
}

NORITE_MSL_INLINE constexpr float float_of_half_bits(ushort bits) {
  const uint sign = uint(bits & 0x8000) << 16;
  const uint magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) {
    const uint quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    return __builtin_bit_cast(float, sign | 0x7f800000 | quiet | (magnitude & 0x3ff) << 13);
  }
  if (magnitude >= 0x400) return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000));
  const float value = float(int(magnitude)) * 0x1p-24f;
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint, value));
}

NORITE_MSL_INLINE constexpr ushort bfloat_bits(float x) {
  const uint bits = __builtin_bit_cast(uint, x);
  if ((bits & 0x7fffffff) > 0x7f800000) return ushort((bits >> 16) | 0x40);
  return ushort(round_bits(bits, 16));
}

}  // namespace norite_msl
