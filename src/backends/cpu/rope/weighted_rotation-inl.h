// SPDX-License-Identifier: MIT
// What heads of whole blocks, all of whose elements rotate with the other half of their head, are
// multiplied by: one product for the angle and the weight.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_WEIGHTED_ROTATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_WEIGHTED_ROTATION_INL_H
#undef NORITE_CPU_WEIGHTED_ROTATION_INL_H
#else
#define NORITE_CPU_WEIGHTED_ROTATION_INL_H
#endif

#include <hwy/highway.h>

#include "backends/cpu/rope/heads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Angles of one token times the weights of either half. Forward, y1 = v1 * cos1 - v2 * sin2 and
/// y2 = v2 * cos2 + v1 * sin1; backward, g1 = dy1 * cos1 + dy2 * sin1 and
/// g2 = dy2 * cos2 - dy1 * sin2, times the weights.
struct WeightedRotation {
  Table cos1, cos2, sin1, sin2;
};

/// kWeighs: else the angles are left as they are.
template <class E, bool kWeighs = true>
HWY_NOINLINE void weigh(const HeadRuns& runs, const Angles& angles, int64_t token,
                        const Table& weight, WeightedRotation& to) {
  angles.for_blocks_of<E>(token, [&](int64_t i, Block cos, Block sin) HWY_ATTR {
    const auto by = [&](const Run& run, Block v) HWY_ATTR {
      return kWeighs ? mul(v, F32::load(weight.values + run.table + i)) : v;
    };
    F32::store_f32(by(runs.first, cos), to.cos1.values + i);
    F32::store_f32(by(runs.second, cos), to.cos2.values + i);
    F32::store_f32(by(runs.first, sin), to.sin1.values + i);
    F32::store_f32(by(runs.second, sin), to.sin2.values + i);
  });
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
