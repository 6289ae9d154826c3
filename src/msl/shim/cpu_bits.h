// SPDX-License-Identifier: MIT
// Bits of a word, counted and reversed.
#pragma once
#include "shim/config.h"
#include "shim/types.h"

namespace norite_msl {

/// Of a word that is not 0.
NORITE_MSL_INLINE constexpr int leading_zeros64(ulong x) { return __builtin_clzl(x); }
NORITE_MSL_INLINE constexpr int trailing_zeros64(ulong x) { return __builtin_ctzl(x); }
NORITE_MSL_INLINE constexpr int ones64(ulong x) { return __builtin_popcountl(x); }
NORITE_MSL_INLINE constexpr ulong reversed64(ulong x) { return __builtin_bitreverse64(x); }

}  // namespace norite_msl
