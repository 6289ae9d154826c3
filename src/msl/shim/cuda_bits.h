// SPDX-License-Identifier: MIT
// Bits of a word, counted and reversed.
#pragma once
#include "shim/config.h"
#include "shim/types.h"

namespace norite_msl {

/// Of a word that is not 0.
NORITE_MSL_INLINE int leading_zeros64(ulong x) { return __clzll((long long)x); }
NORITE_MSL_INLINE int trailing_zeros64(ulong x) { return __ffsll((long long)x) - 1; }
NORITE_MSL_INLINE int ones64(ulong x) { return __popcll(x); }
NORITE_MSL_INLINE ulong reversed64(ulong x) { return __brevll(x); }

}  // namespace norite_msl
