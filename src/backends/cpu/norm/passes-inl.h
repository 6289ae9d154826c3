// SPDX-License-Identifier: MIT
// Which SIMD levels have both kinds of passes.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_PASSES_INL_H
#undef NORITE_CPU_PASSES_INL_H
#else
#define NORITE_CPU_PASSES_INL_H
#endif

#include <hwy/highway.h>

#include "backends/cpu/norm/passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Narrower vectors are bound by arithmetic, which joined passes have less of.
inline constexpr bool kPassesMayBeApart = HWY_TARGET <= HWY_AVX3;

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
