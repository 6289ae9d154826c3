// SPDX-License-Identifier: MIT
// Exponentials of elementwise functions, step by step those of kernels/elementwise/exponential.h.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_EXPONENTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_EXPONENTIAL_INL_H
#undef NORITE_CPU_EXPONENTIAL_INL_H
#else
#define NORITE_CPU_EXPONENTIAL_INL_H
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

HWY_INLINE VF constant(float value) { return hn::Set(DF(), value); }

/// Tails of the functions are products of a small exponential and of other factors. They are
/// multiplied as 2^64 times their value and brought down last, so that only the result is rounded
/// where it is subnormal.
HWY_INLINE VF brought_down(VF raised) { return hn::Mul(raised, constant(0x1p-64f)); }

/// e^z = 2^k * (1 + m), |m| < 0.42.
struct Exponential {
  VU k;  // in the low bits
  VF m;

  /// 2^(k + kUp); its exponent must be that of a normal number.
  template <uint32_t kUp>
  HWY_INLINE VF power() const {
    return hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(k, hn::Set(DU(), 127 + kUp))));
  }
};

/// Of z + rest, where rest is too small to change k. A NaN stays one in m.
HWY_INLINE Exponential exponential(VF z, VF rest) {
  const VF rounder = constant(0x1.8p23f);  // adding it leaves an integer in the low bits
  const VF shifted = hn::MulAdd(z, constant(0x1.715476p+0f), rounder);
  const VF k = hn::Sub(shifted, rounder);
  // ln 2 in two parts, the first so short that its products are exact.
  const VF head = hn::MulAdd(k, constant(-0x1.63p-1f), z);
  const VF r = hn::Add(hn::MulAdd(k, constant(0x1.bd0106p-13f), head), rest);
  // expm1(r) = r + r^2 * p(r) for |r| <= ln(2) / 2, within 2^-26 of e^r
  VF p = hn::MulAdd(r, constant(0x1.6d113cp-10f), constant(0x1.120ba2p-7f));
  p = hn::MulAdd(r, p, constant(0x1.55551ap-5f));
  p = hn::MulAdd(r, p, constant(0x1.5554dcp-3f));
  p = hn::MulAdd(r, p, constant(0.5f));
  return {hn::BitCast(DU(), shifted), hn::MulAdd(hn::Mul(r, r), p, r)};
}

/// 2^64 * e^(z + rest) for -130 <= z <= 0.
HWY_INLINE VF raised_exp(VF z, VF rest) {
  const Exponential e = exponential(z, rest);
  const VF power = e.power<64>();
  return hn::MulAdd(power, e.m, power);
}

/// e^z - 1 for -80 <= z <= 0, without cancellation.
HWY_INLINE VF exp_minus_one(VF z) {
  const Exponential e = exponential(z, hn::Zero(DF()));
  const VF power = e.power<0>();
  return hn::MulAdd(power, e.m, hn::Sub(power, constant(1.0f)));
}

// Compilers move comparisons of a float in front of its conversion from f16, where they have no
// vectors for them. So these two compare a difference, and an integer.

/// min(|x|, limit), but a NaN stays one.
HWY_INLINE VF size_at_most(VF x, float limit) {
  const VF a = hn::Abs(x), most = constant(limit);
  return hn::IfThenElse(hn::Gt(hn::Sub(a, most), hn::Zero(DF())), most, a);
}

/// By the sign of x, also of -0.
HWY_INLINE VF if_negative(VF x, VF yes, VF no) {
  const hn::RebindToSigned<DF> di;
  const auto negative = hn::Lt(hn::BitCast(di, x), hn::Zero(di));
  return hn::IfThenElse(hn::RebindMask(DF(), negative), yes, no);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
