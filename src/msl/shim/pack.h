// SPDX-License-Identifier: MIT
// metal_pack: normalised integers in a word, least significant first. Rounds to nearest even.
#pragma once
#include "shim/common.h"
#include "shim/config.h"
#include "shim/vec.h"

namespace norite_msl {

/// A field of `bits` bits at `offset`, as a number from 0 to 1.
NORITE_MSL_INLINE constexpr float unorm(uint word, uint offset, uint bits) {
  const uint most = (1u << bits) - 1;
  return float((word >> offset) & most) / float(most);
}
/// As a number from -1 to 1; the most negative field is -1 too.
NORITE_MSL_INLINE constexpr float snorm(uint word, uint offset, uint bits) {
  const int field = int(word << (32 - bits - offset)) >> (32 - bits);
  return fmax_f32(float(field) / float((1 << (bits - 1)) - 1), -1.0f);
}
NORITE_MSL_INLINE uint to_unorm(float x, uint offset, uint bits) {
  return uint(rint_f32(clamp_f32(x, 0.0f, 1.0f) * float((1u << bits) - 1))) << offset;
}
NORITE_MSL_INLINE uint to_snorm(float x, uint offset, uint bits) {
  const int field = int(rint_f32(clamp_f32(x, -1.0f, 1.0f) * float((1 << (bits - 1)) - 1)));
  return (uint(field) & ((1u << bits) - 1)) << offset;
}
NORITE_MSL_INLINE float from_srgb(float x) {
  return x <= 0.04045f ? x / 12.92f : pow_f32((x + 0.055f) / 1.055f, 2.4f);
}
NORITE_MSL_INLINE float to_srgb(float x) {
  const float c = clamp_f32(x, 0.0f, 1.0f);
  return c < 0.0031308f ? 12.92f * c : 1.055f * pow_f32(c, 1.0f / 2.4f) - 0.055f;
}

}  // namespace norite_msl

namespace metal {

#define NORITE_MSL_PACKING(T)                                                                     \
  NORITE_MSL_INLINE constexpr T##4 unpack_unorm4x8_to_##T(uint x) {                               \
    using norite_msl::unorm;                                                                      \
    return T##4(unorm(x, 0, 8), unorm(x, 8, 8), unorm(x, 16, 8), unorm(x, 24, 8));                \
  }                                                                                               \
  NORITE_MSL_INLINE constexpr T##4 unpack_snorm4x8_to_##T(uint x) {                               \
    using norite_msl::snorm;                                                                      \
    return T##4(snorm(x, 0, 8), snorm(x, 8, 8), snorm(x, 16, 8), snorm(x, 24, 8));                \
  }                                                                                               \
  NORITE_MSL_INLINE T##4 unpack_unorm4x8_srgb_to_##T(uint x) {                                    \
    using norite_msl::unorm, norite_msl::from_srgb;                                               \
    return T##4(from_srgb(unorm(x, 0, 8)), from_srgb(unorm(x, 8, 8)), from_srgb(unorm(x, 16, 8)), \
                unorm(x, 24, 8));                                                                 \
  }                                                                                               \
  NORITE_MSL_INLINE constexpr T##2 unpack_unorm2x16_to_##T(uint x) {                              \
    return T##2(norite_msl::unorm(x, 0, 16), norite_msl::unorm(x, 16, 16));                       \
  }                                                                                               \
  NORITE_MSL_INLINE constexpr T##2 unpack_snorm2x16_to_##T(uint x) {                              \
    return T##2(norite_msl::snorm(x, 0, 16), norite_msl::snorm(x, 16, 16));                       \
  }                                                                                               \
  NORITE_MSL_INLINE constexpr T##4 unpack_unorm10a2_to_##T(uint x) {                              \
    using norite_msl::unorm;                                                                      \
    return T##4(unorm(x, 0, 10), unorm(x, 10, 10), unorm(x, 20, 10), unorm(x, 30, 2));            \
  }                                                                                               \
  NORITE_MSL_INLINE constexpr T##3 unpack_unorm565_to_##T(ushort x) {                             \
    using norite_msl::unorm;                                                                      \
    return T##3(unorm(x, 11, 5), unorm(x, 5, 6), unorm(x, 0, 5));                                 \
  }                                                                                               \
  NORITE_MSL_INLINE uint pack_##T##_to_unorm4x8(T##4 x) {                                         \
    using norite_msl::to_unorm;                                                                   \
    return to_unorm(x.x, 0, 8) | to_unorm(x.y, 8, 8) | to_unorm(x.z, 16, 8) |                     \
           to_unorm(x.w, 24, 8);                                                                  \
  }                                                                                               \
  NORITE_MSL_INLINE uint pack_##T##_to_snorm4x8(T##4 x) {                                         \
    using norite_msl::to_snorm;                                                                   \
    return to_snorm(x.x, 0, 8) | to_snorm(x.y, 8, 8) | to_snorm(x.z, 16, 8) |                     \
           to_snorm(x.w, 24, 8);                                                                  \
  }                                                                                               \
  NORITE_MSL_INLINE uint pack_##T##_to_srgb_unorm4x8(T##4 x) {                                    \
    using norite_msl::to_unorm, norite_msl::to_srgb;                                              \
    return to_unorm(to_srgb(x.x), 0, 8) | to_unorm(to_srgb(x.y), 8, 8) |                          \
           to_unorm(to_srgb(x.z), 16, 8) | to_unorm(x.w, 24, 8);                                  \
  }                                                                                               \
  NORITE_MSL_INLINE uint pack_##T##_to_unorm2x16(T##2 x) {                                        \
    return norite_msl::to_unorm(x.x, 0, 16) | norite_msl::to_unorm(x.y, 16, 16);                  \
  }                                                                                               \
  NORITE_MSL_INLINE uint pack_##T##_to_snorm2x16(T##2 x) {                                        \
    return norite_msl::to_snorm(x.x, 0, 16) | norite_msl::to_snorm(x.y, 16, 16);                  \
  }                                                                                               \
  NORITE_MSL_INLINE uint pack_##T##_to_unorm10a2(T##4 x) {                                        \
    using norite_msl::to_unorm;                                                                   \
    return to_unorm(x.x, 0, 10) | to_unorm(x.y, 10, 10) | to_unorm(x.z, 20, 10) |                 \
           to_unorm(x.w, 30, 2);                                                                  \
  }                                                                                               \
  NORITE_MSL_INLINE ushort pack_##T##_to_unorm565(T##3 x) {                                       \
    using norite_msl::to_unorm;                                                                   \
    return ushort(to_unorm(x.x, 11, 5) | to_unorm(x.y, 5, 6) | to_unorm(x.z, 0, 5));              \
  }
NORITE_MSL_PACKING(float)
NORITE_MSL_PACKING(half)
#undef NORITE_MSL_PACKING

}  // namespace metal
