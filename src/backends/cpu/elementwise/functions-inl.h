// SPDX-License-Identifier: MIT
// The functions of ElementwiseFunction on vectors, by the formulas of
// kernels/elementwise/functions.h, which says why they are computed as they are. There both sides
// of zero are branches; here they share what they can, and 16 bits have a precision of their own.
//
// A function is a type with its numbers of inputs and outputs and, unless it is short,
//   template <class P> static void apply(VF scalar, const VF* in, VF* out);
// P is a precision, see exponential-inl.h.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_ELEMENTWISE_FUNCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_ELEMENTWISE_FUNCTIONS_INL_H
#undef NORITE_CPU_ELEMENTWISE_FUNCTIONS_INL_H
#else
#define NORITE_CPU_ELEMENTWISE_FUNCTIONS_INL_H
#endif

#include <hwy/highway.h>

#include "backends/cpu/elementwise/exponential-inl.h"
#include "elementwise/params.h"

// What loops for every function and dtype share. Compilers take minutes over copies of it where
// vectors are emulated by loops, or where AddressSanitizer watches; neither is there to be fast.
#undef NORITE_IN_LOOPS
#if HWY_IS_ASAN || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
#define NORITE_IN_LOOPS HWY_NOINLINE
#else
#define NORITE_IN_LOOPS HWY_INLINE
#endif

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Functions so short that what they cost is memory.
enum class Short { none, copy, scale, add, mul };

template <int kIn, int kOut, Short kKind = Short::none>
struct Arity {
  static constexpr int kInputs = kIn, kOutputs = kOut;
  static constexpr Short kShort = kKind;
};

struct CopyElement : Arity<1, 1, Short::copy> {};
struct ScaleElement : Arity<1, 1, Short::scale> {};
struct AddElements : Arity<2, 1, Short::add> {};
struct MulElements : Arity<2, 1, Short::mul> {};

struct MulBackward : Arity<3, 2> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = hn::Mul(in[0], in[2]);
    out[1] = hn::Mul(in[0], in[1]);
  }
};

/// A function and its derivative at one point; a caller that needs one of them pays for one.
struct Point {
  VF value, slope;
};

/// v where it is a tail, for negative x, has the factor Power::tail.
template <class P>
HWY_INLINE VF brought_down_tail(VF x, VF v) {
  return P::kRaisesTails ? if_negative(x, brought_down(v), v) : v;
}

/// x * sigmoid(v(x)) for an odd v, from z = -|x|, v(z) / z * log(e) and z * v'(z).
template <class P>
HWY_INLINE Point gated(VF x, VF z, VF v_by_z, VF zv_slope) {
  const VF one = constant(1.0f);
  const Power t = P::power(z, v_by_z);
  const VF share = P::quotient(one, hn::Add(t.plain, one));
  const VF bend = if_negative(x, one, hn::Neg(t.plain));
  const VF slope = hn::Mul(hn::Mul(if_negative(x, t.tail, one), share),
                           hn::MulAdd(hn::Mul(zv_slope, share), bend, one));
  const VF value = hn::Mul(if_negative(x, hn::Mul(z, t.tail), x), share);
  return {brought_down_tail<P>(x, value), brought_down_tail<P>(x, slope)};
}

struct Silu {
  template <class P>
  static NORITE_IN_LOOPS Point at(VF x) {
    const VF z = minus_size(x, 128.0f);
    return gated<P>(x, z, constant(P::kLogE), z);
  }
};

struct GeluTanh {
  template <class P>
  static NORITE_IN_LOOPS Point at(VF x) {
    constexpr float kLinear = 0x1.988454p+0f, kCubic = 0x1.2444f2p-4f;
    const VF z = minus_size(x, 11.5f);
    const VF square = hn::Mul(z, z);
    const VF v_by_z = polynomial(square, {kCubic * P::kLogE, kLinear * P::kLogE});
    const VF slope = polynomial(square, {3.0f * kCubic, kLinear});
    return gated<P>(x, z, v_by_z, hn::Mul(z, slope));
  }
};

struct Gelu {
  template <class P>
  static NORITE_IN_LOOPS Point at(VF x) {
    const VF z = minus_size(x, 15.0f);
    const VF a = hn::Neg(z);
    const Power t = density(a, P());
    const VF ratio = tail_ratio(a, P());
    const VF lead = hn::NegMulAdd(a, constant(0x1.988454p-2f), ratio);
    const VF one = constant(1.0f);
    const VF value = hn::Mul(if_negative(x, z, x), if_negative(x, hn::Mul(t.tail, ratio),
                                                               hn::NegMulAdd(t.plain, ratio, one)));
    const VF slope = if_negative(x, hn::Mul(t.tail, lead), hn::NegMulAdd(t.plain, lead, one));
    return {brought_down_tail<P>(x, value), brought_down_tail<P>(x, slope)};
  }

 private:
  /// e^(-a^2 / 2)
  static HWY_INLINE Power density(VF a, ForF32) {
    const VF upper = hn::BitCast(DF(), hn::And(hn::BitCast(DU(), a), hn::Set(DU(), 0xFFFFF000u)));
    const VF minus_half = constant(-0.5f);
    Reduced e = ForF32::reduced<kRaise>(hn::Mul(upper, upper), minus_half);
    e.r = hn::MulAdd(hn::Mul(minus_half, hn::Sub(a, upper)), hn::Add(a, upper), e.r);
    return ForF32::power(e);
  }
  /// The square of 11 bits is exact; that of what a chain has computed need not be.
  template <class P>
  static HWY_INLINE Power density(VF a, P) {
    return P::power(hn::Mul(a, a), constant(-0.5f * P::kLogE));
  }

  /// (1 - Phi(a)) * e^(a^2 / 2) for 0 <= a <= 15, within 2^-26.
  static HWY_INLINE VF tail_ratio(VF a, ForF32) {
    const VF p =
        polynomial(a, {0x1.0e2c58p-8f, 0x1.4d6a06p-5f, 0x1.77c01ep-3f, 0x1.c133dap-2f, 0.5f});
    const VF q = polynomial(
        a, {0x1.529bb6p-7f, 0x1.a1e5dap-4f, 0x1.e15dc8p-2f, 0x1.341dfep+0f, 0x1.acdc1cp+0f, 1.0f});
    return ForF32::quotient(p, q);
  }
  /// Within 2^-21.
  static HWY_INLINE VF tail_ratio(VF a, ForF16) {
    const VF p = polynomial(a, {0x1.1896f2p-6f, 0x1.eb40f4p-4f, 0x1.7373b4p-2f, 0.5f});
    const VF q =
        polynomial(a, {0x1.5fb460p-5f, 0x1.33a6acp-2f, 0x1.e9338ep-1f, 0x1.85fb16p+0f, 1.0f});
    return ForF16::quotient(p, q);
  }
};

struct Softcap : Arity<1, 1> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF cap, const VF* in, VF* out) {
    const VF z = minus_size(P::over(in[0], cap), 20.0f);
    const VF e = exp_minus_one<P>(z, constant(2.0f * P::kLogE));
    const VF tanh = P::quotient(e, hn::Add(e, constant(2.0f)));
    const VF capped = hn::CopySign(hn::Mul(cap, tanh), in[0]);
    out[0] = hn::IfThenElse(hn::Gt(z, constant(-0x1p-12f)), in[0], capped);
  }
};

struct SoftcapBackward : Arity<2, 1> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF cap, const VF* in, VF* out) {
    const VF z = minus_size(P::over(in[1], cap), 64.0f);
    const Power t = P::power(z, constant(2.0f * P::kLogE));
    const VF share = P::quotient(constant(2.0f), hn::Add(t.plain, constant(1.0f)));
    const VF product = hn::Mul(t.tail, hn::Mul(share, share));
    const VF slope = P::kRaisesTails ? brought_down(product) : product;
    out[0] = hn::Mul(in[0], hn::IfThenElse(hn::IsNaN(z), z, slope));
  }
};

template <class F>
struct Activate : Arity<1, 1> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = F::template at<P>(in[0]).value;
  }
};

template <class F>
struct ActivateBackward : Arity<2, 1> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = hn::Mul(in[0], F::template at<P>(in[1]).slope);
  }
};

template <class F>
struct ActivateMul : Arity<2, 1> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = hn::Mul(F::template at<P>(in[0]).value, in[1]);
  }
};

template <class F>
struct ActivateMulBackward : Arity<3, 2> {
  template <class P>
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    const Point at = F::template at<P>(in[1]);
    out[0] = hn::Mul(hn::Mul(in[0], in[2]), at.slope);
    out[1] = hn::Mul(in[0], at.value);
  }
};

/// body(function) with the function as a type.
template <class Body>
HWY_INLINE void with_function(uint32_t function, Body body) {
  switch (static_cast<ElementwiseFunction>(function)) {
    case kElementwiseCopy:
      return body(CopyElement());
    case kElementwiseScale:
      return body(ScaleElement());
    case kElementwiseAdd:
      return body(AddElements());
    case kElementwiseMul:
      return body(MulElements());
    case kElementwiseMulBackward:
      return body(MulBackward());
    case kElementwiseSilu:
      return body(Activate<Silu>());
    case kElementwiseSiluBackward:
      return body(ActivateBackward<Silu>());
    case kElementwiseSiluMul:
      return body(ActivateMul<Silu>());
    case kElementwiseSiluMulBackward:
      return body(ActivateMulBackward<Silu>());
    case kElementwiseGelu:
      return body(Activate<Gelu>());
    case kElementwiseGeluBackward:
      return body(ActivateBackward<Gelu>());
    case kElementwiseGeluMul:
      return body(ActivateMul<Gelu>());
    case kElementwiseGeluMulBackward:
      return body(ActivateMulBackward<Gelu>());
    case kElementwiseGeluTanh:
      return body(Activate<GeluTanh>());
    case kElementwiseGeluTanhBackward:
      return body(ActivateBackward<GeluTanh>());
    case kElementwiseGeluTanhMul:
      return body(ActivateMul<GeluTanh>());
    case kElementwiseGeluTanhMulBackward:
      return body(ActivateMulBackward<GeluTanh>());
    case kElementwiseSoftcap:
      return body(Softcap());
    case kElementwiseSoftcapBackward:
      return body(SoftcapBackward());
  }
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
