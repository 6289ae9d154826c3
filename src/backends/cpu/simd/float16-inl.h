// SPDX-License-Identifier: MIT
// Half a block of IEEE binary16 to and from f32: by the instruction where there is one, else by
// integer arithmetic with the same results.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_FLOAT16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_FLOAT16_INL_H
#undef NORITE_CPU_FLOAT16_INL_H
#else
#define NORITE_CPU_FLOAT16_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::ScalableTag<uint32_t>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using DHalves = hn::Rebind<uint16_t, DF>;  // as many 16-bit lanes as a vector has floats
using VHalves = hn::Vec<DHalves>;

// Highway emulates the conversions below AVX2, and cuts there instead of rounding.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM

HWY_INLINE VF widen_f16(VHalves halves) {
  return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), halves));
}

HWY_INLINE VHalves narrow_f16(VF v) {
  return hn::BitCast(DHalves(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), v));
}

#else

HWY_INLINE VF widen_f16(VHalves halves) {
  const VU bits = hn::PromoteTo(DU(), halves);
  const VU sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(DU(), 0x8000)));
  const VU magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(DU(), 0x7FFF)));
  // Rebias the exponent by a multiplication: exact, and it normalises subnormals.
  const VU finite =
      hn::BitCast(DU(), hn::Mul(hn::BitCast(DF(), magnitude), hn::Set(DF(), 0x1p112f)));
  const VU special = hn::Or(magnitude, hn::Set(DU(), 0x7F800000));
  const auto is_special = hn::Gt(magnitude, hn::Set(DU(), 0x0F7FFFFF));
  return hn::BitCast(DF(), hn::Or(sign, hn::IfThenElse(is_special, special, finite)));
}

HWY_INLINE VHalves narrow_f16(VF v) {
  const VU bits = hn::BitCast(DU(), v);
  const VU sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(DU(), 0x80000000u)));
  const VU magnitude = hn::And(bits, hn::Set(DU(), 0x7FFFFFFF));
  const VU odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(DU(), 1));
  const VU rounded = hn::Add(hn::Add(magnitude, odd), hn::Set(DU(), 0xFFF));
  const VU normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(DU(), 0x38000000)));
  // Below 2^-14 the addition of one half lets the FPU round to steps of 2^-24.
  const VF shifted = hn::Add(hn::BitCast(DF(), magnitude), hn::Set(DF(), 0.5f));
  const VU tiny = hn::Sub(hn::BitCast(DU(), shifted), hn::Set(DU(), 0x3F000000));
  const VU payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(DU(), 0x1FF));
  const VU nan = hn::Or(hn::Set(DU(), 0x7E00), payload);
  VU half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(DU(), 0x38800000)), tiny, normal);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(DU(), 0x477FEFFF)), hn::Set(DU(), 0x7C00), half);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(DU(), 0x7F800000)), nan, half);
  const hn::RebindToSigned<DU> di;
  return hn::DemoteTo(DHalves(), hn::BitCast(di, hn::Or(sign, half)));
}

#endif

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
