// SPDX-License-Identifier: MIT
// 16-bit floats on the host, for filling and reading buffers. Conversions round to nearest even,
// keep NaN a quiet NaN, and treat subnormals exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace norite {

/// IEEE 754 binary16.
struct Float16 {
  uint16_t bits = 0;
};

/// The upper half of a binary32.
struct BFloat16 {
  uint16_t bits = 0;
};

inline float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

inline BFloat16 to_bfloat16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  // Adding just under half, plus the kept part's last bit, carries exactly when RNE rounds up.
  return {static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

inline float to_float(Float16 value) noexcept {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7FFFu) << 13;
  const uint32_t exponent = magnitude & 0x0F800000u;
  if (exponent == 0x0F800000u) return std::bit_cast<float>(sign | magnitude | 0x70000000u);
  if (exponent == 0) {  // subnormal or zero: the bits count multiples of 2^-24
    const float scaled = static_cast<float>(value.bits & 0x3FFu) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }
  return std::bit_cast<float>(sign | (magnitude + 0x38000000u));
}

inline Float16 to_float16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return {static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu))};
  }
  if (magnitude >= 0x477FF000u) return {static_cast<uint16_t>(sign | 0x7C00u)};  // >= 65520
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 lets the FPU round to 2^-24 steps
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u))};
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

}  // namespace norite
