// SPDX-License-Identifier: MIT
// Exponentials and quotients of elementwise functions, in the precision that a dtype needs.
//
// A precision P has
//   kLogE             logarithm of e to the base whose powers it gives
//   kRaisesTails      whether products with a small power stay raised until they are whole
//   reduced(z, y)     base^(z * y) as a power of 2 and of a remainder
//   expm1(r)          base^r - 1 of that remainder
//   power(z, y)       base^(z * y) for -130 <= z * y * ln(base) <= 0; of a NaN any number
//   quotient(n, d)    n / d, d and 1 / d normal
//   over(x, c)        x / c for a c > 0 that is the same for all x
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

constexpr bool kX86Vectors = HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR;

HWY_INLINE VF constant(float value) { return hn::Set(DF(), value); }

/// By Horner's rule, from the highest power down.
template <size_t kTerms>
HWY_INLINE VF polynomial(VF x, const float (&factors)[kTerms]) {
  VF sum = constant(factors[0]);
  for (size_t i = 1; i < kTerms; ++i) sum = hn::MulAdd(x, sum, constant(factors[i]));
  return sum;
}

/// Powers down to 2^-150 are computed as 2^64 times their value: parts of them are normal numbers.
constexpr uint32_t kRaise = 64;
constexpr float kDown = 0x1p-64f;
HWY_INLINE VF brought_down(VF raised) { return hn::Mul(raised, constant(kDown)); }

/// A power as factor of what becomes a tail, raised where the precision says so, and as it is.
struct Power {
  VF tail, plain;
};

/// base^(z * y) = 2^k * base^r
struct Reduced {
  VU k;  // and what was added to it, in the low 9 bits
  VF r;

  /// k + 127 were added: 2^k.
  HWY_INLINE VF power_of_two() const { return hn::BitCast(DF(), hn::ShiftLeft<23>(k)); }
};

/// Adding it leaves an integer, and kMore on top, in the low bits.
template <uint32_t kMore>
constexpr float kRounder = 0x1.8p23f + static_cast<float>(kMore);

/// For f32: all but the last two or three bits of a result are right.
struct ForF32 {
  static constexpr float kLogE = 1.0f;
  static constexpr bool kRaisesTails = true;  // a subnormal result is rounded once, as a whole

  template <uint32_t kMore>
  static HWY_INLINE Reduced reduced(VF z, VF y) {
    const VF product = hn::Mul(z, y);
    const VF rounder = constant(kRounder<kMore>);
    const VF shifted = hn::MulAdd(product, constant(0x1.715476p+0f), rounder);
    const VF k = hn::Sub(shifted, rounder);
    // ln 2 in two parts, the first so short that its products are exact.
    const VF head = hn::MulAdd(k, constant(-0x1.63p-1f), product);
    return {hn::BitCast(DU(), shifted), hn::MulAdd(k, constant(0x1.bd0106p-13f), head)};
  }
  /// r + r^2 * p(r) for |r| <= ln(2) / 2, within 2^-26 of e^r.
  static HWY_INLINE VF expm1(VF r) {
    const VF p =
        polynomial(r, {0x1.6d113cp-10f, 0x1.120ba2p-7f, 0x1.55551ap-5f, 0x1.5554dcp-3f, 0.5f});
    return hn::MulAdd(hn::Mul(r, r), p, r);
  }
  static HWY_INLINE Power power(VF z, VF y) { return power(reduced<kRaise>(z, y)); }
  /// kRaise was added to k. That goes to the exponent of a number near 1.
  static HWY_INLINE Power power(Reduced e) {
    const VU near_one = hn::BitCast(DU(), hn::Add(expm1(e.r), constant(1.0f)));
    const VF raised = hn::BitCast(DF(), hn::Add(near_one, hn::ShiftLeft<23>(e.k)));
    return {raised, brought_down(raised)};
  }
  static HWY_INLINE VF quotient(VF n, VF d) { return hn::Div(n, d); }
  static HWY_INLINE VF over(VF x, VF c) { return hn::Div(x, c); }
};

/// For f16, whose rounding is 2^-11: what is rounded is right within 2^-20, without fused
/// multiply-add within 2^-19.
struct ForF16 {
  static constexpr float kLogE = 0x1.715476p+0f;  // base 2: the remainder is that of a rounding
  static constexpr bool kRaisesTails = false;     // f16 ends long before f32 does

  template <uint32_t kMore>
  static HWY_INLINE Reduced reduced(VF z, VF y) {
    const VF rounder = constant(kRounder<kMore>);
    const VF shifted = hn::MulAdd(z, y, rounder);
    return {hn::BitCast(DU(), shifted), hn::MulSub(z, y, hn::Sub(shifted, rounder))};
  }
  static HWY_INLINE VF expm1(VF r) { return hn::Mul(r, chord(r, 1)); }
  static HWY_INLINE Power power(VF z, VF y) {
    const Reduced e = reduced<127 + kRaise>(z, y);
    // 2^-64 * 2^r, so that the product may be subnormal.
    const VF down = hn::MulAdd(e.r, chord(e.r, kDown), constant(kDown));
    const VF t = hn::Mul(down, e.power_of_two());
    return {t, t};
  }

  /// The estimate of 1 / d is within 2^-14 with AVX-512, within 1.5 * 2^-12 before it. A step of
  /// Newton's squares that; where an estimate has only 8 bits, a division costs less than two.
  static HWY_INLINE VF quotient(VF n, VF d) {
    if constexpr (kX86Vectors) {
      const VF estimate = hn::ApproximateReciprocal(d);
      const VF error = hn::NegMulAdd(d, estimate, constant(1.0f));
      const VF nearly = hn::Mul(n, estimate);
      return hn::MulAdd(nearly, error, nearly);
    } else {
      return hn::Div(n, d);
    }
  }
  /// By the reciprocal, in two steps: that of a subnormal c alone may be infinite.
  static HWY_INLINE VF over(VF x, VF c) {
    const VF one = constant(1.0f);
    const auto small = hn::Lt(c, one);
    const VF inverse = hn::Div(hn::IfThenElse(small, constant(kDown), one), c);
    return hn::Mul(hn::Mul(x, hn::IfThenElse(small, constant(1 / kDown), one)), inverse);
  }

 private:
  /// (2^r - 1) / r * times for |r| <= 1/2, within 2^-21; then 2^r is right within 2^-22.
  static HWY_INLINE VF chord(VF r, float times) {
    return polynomial(r, {times * 0x1.5d87e0p-10f, times * 0x1.3cbe58p-7f, times * 0x1.c6b26ep-5f,
                          times * 0x1.ebfa4ep-3f, times * 0x1.62e42ep-1f});
  }
};

/// For bf16, whose rounding is 2^-8: within 2^-17, or 2^-16. Its exponents are those of f32: a
/// subnormal power may be a factor of a large number.
struct ForBF16 : ForF16 {
  static constexpr bool kRaisesTails = true;

  /// 2^r within 2^-18.5.
  static HWY_INLINE Power power(VF z, VF y) {
    const Reduced e = reduced<127 + kRaise>(z, y);
    const VF near_one = polynomial(
        e.r, {0x1.3997e0p-7f, 0x1.ca1442p-5f, 0x1.ec06dap-3f, 0x1.62e0dcp-1f, 0x1.ffffe8p-1f});
    const VF raised = hn::Mul(near_one, e.power_of_two());
    return {raised, brought_down(raised)};
  }
};

ForF32 precision_for(F32);
ForF16 precision_for(F16);
ForBF16 precision_for(BF16);

/// base^(z * y) - 1 for -80 <= z * y * ln(base) <= 0, without cancellation; a NaN stays one.
template <class P>
HWY_INLINE VF exp_minus_one(VF z, VF y) {
  const Reduced e = P::template reduced<127>(z, y);
  const VF power = e.power_of_two();
  return hn::MulAdd(power, P::expm1(e.r), hn::Sub(power, constant(1.0f)));
}

// Compilers move comparisons of a float in front of its conversion from f16, where they have no
// vectors for them. So these two compare a difference, and an integer.

/// -min(|x|, limit), but a NaN stays one.
HWY_INLINE VF minus_size(VF x, float limit) {
  const VF z = hn::Or(x, constant(-0.0f)), least = constant(-limit);
  if constexpr (kX86Vectors) {
    return hn::Max(least, z);  // the second where one is NaN
  } else {
    return hn::IfThenElse(hn::Lt(hn::Sub(z, least), hn::Zero(DF())), least, z);
  }
}

/// By the sign of x.
HWY_INLINE VF if_negative(VF x, VF yes, VF no) {
  const hn::RebindToSigned<DF> di;
  const auto negative = hn::Lt(hn::BitCast(di, x), hn::Zero(di));
  return hn::IfThenElse(hn::RebindMask(DF(), negative), yes, no);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
