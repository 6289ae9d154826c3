// SPDX-License-Identifier: MIT
// The functions of ElementwiseFunction on vectors, step by step those of
// kernels/elementwise/functions.h, which says why they are computed as they are.
//
// A function is a type with its numbers of inputs and outputs and, unless it is short,
//   static void apply(VF scalar, const VF* in, VF* out);
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
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = hn::Mul(in[0], in[2]);
    out[1] = hn::Mul(in[0], in[1]);
  }
};

/// A function and its derivative at one point; a caller that needs one of them pays for one.
struct Point {
  VF value, slope;
};

/// x * sigmoid(v(x)) for an odd v, from a = |x|, v(a) and a * v'(a).
HWY_INLINE Point gated(VF x, VF a, VF v, VF av_slope) {
  const VF one = constant(1.0f);
  const VF t = raised_exp(hn::Neg(v), hn::Zero(DF()));
  const VF small = brought_down(t);
  const VF share = hn::Div(one, hn::Add(small, one));
  const VF tail = hn::Mul(t, share);
  const VF value = brought_down(hn::Neg(hn::Mul(a, tail)));
  const VF slope = brought_down(hn::Mul(tail, hn::NegMulAdd(av_slope, share, one)));
  return {if_negative(x, value, hn::Mul(x, share)),
          if_negative(x, slope, hn::Mul(share, hn::MulAdd(hn::Mul(av_slope, share), small, one)))};
}

struct Silu {
  static HWY_INLINE Point at(VF x) {
    const VF a = size_at_most(x, 128.0f);
    return gated(x, a, a, a);
  }
};

struct GeluTanh {
  static HWY_INLINE Point at(VF x) {
    constexpr float kLinear = 0x1.988454p+0f, kCubic = 0x1.2444f2p-4f;
    const VF a = size_at_most(x, 11.5f);
    const VF square = hn::Mul(a, a);
    const VF linear = constant(kLinear);
    return gated(x, a, hn::Mul(a, hn::MulAdd(square, constant(kCubic), linear)),
                 hn::Mul(a, hn::MulAdd(square, constant(3.0f * kCubic), linear)));
  }
};

struct Gelu {
  static HWY_INLINE Point at(VF x) {
    const VF a = size_at_most(x, 15.0f);
    const VF upper = hn::BitCast(DF(), hn::And(hn::BitCast(DU(), a), hn::Set(DU(), 0xFFFFF000u)));
    const VF minus_half = constant(-0.5f);
    const VF rest = hn::Mul(hn::Mul(minus_half, hn::Sub(a, upper)), hn::Add(a, upper));
    const VF density = raised_exp(hn::Mul(minus_half, hn::Mul(upper, upper)), rest);
    const VF ratio = tail_ratio(a);
    const VF lead = hn::NegMulAdd(a, constant(0x1.988454p-2f), ratio);
    const VF one = constant(1.0f);
    const VF small = brought_down(density);
    const VF value = brought_down(hn::Neg(hn::Mul(a, hn::Mul(density, ratio))));
    const VF slope = brought_down(hn::Mul(density, lead));
    return {if_negative(x, value, hn::Mul(x, hn::NegMulAdd(small, ratio, one))),
            if_negative(x, slope, hn::NegMulAdd(small, lead, one))};
  }

  /// (1 - Phi(a)) * e^(a^2 / 2) for 0 <= a <= 15, within 2^-26.
  static HWY_INLINE VF tail_ratio(VF a) {
    VF p = hn::MulAdd(a, constant(0x1.0e2c58p-8f), constant(0x1.4d6a06p-5f));
    p = hn::MulAdd(a, p, constant(0x1.77c01ep-3f));
    p = hn::MulAdd(a, p, constant(0x1.c133dap-2f));
    p = hn::MulAdd(a, p, constant(0.5f));
    VF q = hn::MulAdd(a, constant(0x1.529bb6p-7f), constant(0x1.a1e5dap-4f));
    q = hn::MulAdd(a, q, constant(0x1.e15dc8p-2f));
    q = hn::MulAdd(a, q, constant(0x1.341dfep+0f));
    q = hn::MulAdd(a, q, constant(0x1.acdc1cp+0f));
    q = hn::MulAdd(a, q, constant(1.0f));
    return hn::Div(p, q);
  }
};

struct Softcap : Arity<1, 1> {
  static NORITE_IN_LOOPS void apply(VF cap, const VF* in, VF* out) {
    const VF a = size_at_most(hn::Div(in[0], cap), 20.0f);
    const VF e = exp_minus_one(hn::Mul(constant(-2.0f), a));
    const VF tanh = hn::Div(hn::Neg(e), hn::Add(e, constant(2.0f)));
    const VF capped = hn::CopySign(hn::Mul(cap, tanh), in[0]);
    out[0] = hn::IfThenElse(hn::Lt(a, constant(0x1p-12f)), in[0], capped);
  }
};

struct SoftcapBackward : Arity<2, 1> {
  static NORITE_IN_LOOPS void apply(VF cap, const VF* in, VF* out) {
    const VF a = size_at_most(hn::Div(in[1], cap), 64.0f);
    const VF t = raised_exp(hn::Mul(constant(-2.0f), a), hn::Zero(DF()));
    const VF share = hn::Div(constant(1.0f), hn::Add(brought_down(t), constant(1.0f)));
    const VF raised = hn::Mul(hn::Mul(constant(4.0f), t), hn::Mul(share, share));
    out[0] = hn::Mul(in[0], brought_down(raised));
  }
};

template <class F>
struct Activate : Arity<1, 1> {
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) { out[0] = F::at(in[0]).value; }
};

template <class F>
struct ActivateBackward : Arity<2, 1> {
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = hn::Mul(in[0], F::at(in[1]).slope);
  }
};

template <class F>
struct ActivateMul : Arity<2, 1> {
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    out[0] = hn::Mul(F::at(in[0]).value, in[1]);
  }
};

template <class F>
struct ActivateMulBackward : Arity<3, 2> {
  static NORITE_IN_LOOPS void apply(VF, const VF* in, VF* out) {
    const Point at = F::at(in[1]);
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
