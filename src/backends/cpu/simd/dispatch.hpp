// SPDX-License-Identifier: MIT
// Picks a function from the table that HWY_EXPORT makes, for a given level instead of the best one.
// Include after hwy/highway.h, outside HWY_NAMESPACE.
#pragma once

#include "backends/cpu/simd/level.hpp"

namespace norite::cpu {

// Built inside the kernel's translation unit: the table's order follows the targets compiled there.
inline size_t dispatch_index(const SimdLevel& level) {
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
  (void)level;
  return 0;
#else
  hwy::ChosenTarget chosen;
  chosen.Update(level.hwy_targets);
  return chosen.GetIndex();
#endif
}

}  // namespace norite::cpu

#define NORITE_SIMD_SELECT(function, level) \
  HWY_DISPATCH_TABLE(function)[::norite::cpu::dispatch_index(level)]

// The second one where the level has AVX512_BF16.
#define NORITE_SIMD_SELECT_BF16(function, bf16_function, level) \
  ((level).bf16 ? NORITE_SIMD_SELECT(bf16_function, level) : NORITE_SIMD_SELECT(function, level))
