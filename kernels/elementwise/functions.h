// SPDX-License-Identifier: MIT
// The functions of ElementwiseFunction on one element. src/backends/cpu/elementwise/functions-inl.h
// has the same ones for vectors.
#pragma once

#include "elementwise/exponential.h"

/// A function and its derivative at one point; a caller that needs one of them pays for one.
struct Point {
  float value, slope;
};

/// x * sigmoid(v(x)) for an odd v, from a = |x|, v(a) and a * v'(a). With t = e^-v the sigmoid is
/// 1 / (1 + t) for positive x and t / (1 + t) for negative: neither side cancels.
METAL_FUNC Point gated(float x, float a, float v, float av_slope) {
  const float t = raised_exp(-v);
  const float share = quotient(1.0f, fma(t, kDown, 1.0f));
  if (x < 0.0f) {
    const float tail = t * share;
    return {-(a * tail) * kDown, tail * fma(-av_slope, share, 1.0f) * kDown};
  }
  return {x * share, share * fma(av_slope * share, t * kDown, 1.0f)};
}

/// x * sigmoid(x)
struct Silu {
  static Point at(float x) {
    const float a = at_most(fabs(x), 128.0f);  // beyond it everything rounds to its limit
    return gated(x, a, a, a);
  }
};

/// x * (1 + tanh(u)) / 2 = x * sigmoid(2 * u), u = sqrt(2 / pi) * (x + 0.044715 * x^3)
struct GeluTanh {
  static Point at(float x) {
    constexpr float kLinear = 0x1.988454p+0f, kCubic = 0x1.2444f2p-4f;  // of 2 * u
    const float a = at_most(fabs(x), 11.5f);
    const float square = a * a;
    return gated(x, a, a * fma(square, kCubic, kLinear),
                 a * fma(square, 3.0f * kCubic, kLinear));
  }
};

/// x * Phi(x) = x * (1 + erf(x / sqrt(2))) / 2. With a = |x|, the tail 1 - Phi(a) is e^(-a^2 / 2)
/// times a smooth ratio, whose terms are all positive: no cancellation for negative x either.
struct Gelu {
  static Point at(float x) {
    const float a = at_most(fabs(x), 15.0f);
    // a^2 exactly: an error of its last bit would be one of e^(-a^2 / 2) times a^2.
    const float upper = kShort ? a : as_type<float>(as_type<uint>(a) & 0xFFFFF000u);
    const float density = raised_exp(-0.5f * (upper * upper), -0.5f * (a - upper) * (a + upper));
    const float ratio = tail_ratio(a);
    const float lead = fma(a, -0x1.988454p-2f, ratio);  // 1 / sqrt(2 * pi)
    if (x < 0.0f) return {-(a * (density * ratio)) * kDown, density * lead * kDown};
    return {x * fma(-(density * kDown), ratio, 1.0f), fma(-(density * kDown), lead, 1.0f)};
  }

  /// (1 - Phi(a)) * e^(a^2 / 2) for 0 <= a <= 15, within 2^-26; kShort: within 2^-21.
  static float tail_ratio(float a) {
    if (kShort) {
      float p = fma(a, 0x1.1896f2p-6f, 0x1.eb40f4p-4f);
      p = fma(a, p, 0x1.7373b4p-2f);
      p = fma(a, p, 0.5f);
      float q = fma(a, 0x1.5fb460p-5f, 0x1.33a6acp-2f);
      q = fma(a, q, 0x1.e9338ep-1f);
      q = fma(a, q, 0x1.85fb16p+0f);
      q = fma(a, q, 1.0f);
      return quotient(p, q);
    }
    float p = fma(a, 0x1.0e2c58p-8f, 0x1.4d6a06p-5f);
    p = fma(a, p, 0x1.77c01ep-3f);
    p = fma(a, p, 0x1.c133dap-2f);
    p = fma(a, p, 0.5f);
    float q = fma(a, 0x1.529bb6p-7f, 0x1.a1e5dap-4f);
    q = fma(a, q, 0x1.e15dc8p-2f);
    q = fma(a, q, 0x1.341dfep+0f);
    q = fma(a, q, 0x1.acdc1cp+0f);
    q = fma(a, q, 1.0f);
    return quotient(p, q);
  }
};

/// |x / cap|; kShort: by a reciprocal that all elements share, of a cap that is not subnormal.
METAL_FUNC float over_cap(float x, float cap) {
  if (!kShort) return fabs(x / cap);
  const float raise = cap < 0x1p-64f ? 0x1p64f : 1.0f;
  return fabs(x * raise * (1.0f / (cap * raise)));
}

METAL_FUNC float softcap(float x, float cap) {
  const float a = at_most(over_cap(x, cap), 20.0f);
  const float e = exp_minus_one(-2.0f * a);
  // Below 2^-12 tanh is its argument, whose quotient might be subnormal.
  return a < 0x1p-12f ? x : copysign(cap * quotient(-e, e + 2.0f), x);
}

/// dy * (1 - tanh(x / cap)^2) = dy * 4 * t / (1 + t)^2, t = e^(-2 |x / cap|)
METAL_FUNC float softcap_backward(float dy, float x, float cap) {
  const float t = raised_exp(-2.0f * at_most(over_cap(x, cap), 64.0f));
  const float share = quotient(1.0f, fma(t, kDown, 1.0f));
  return dy * (4.0f * t * (share * share) * kDown);
}

METAL_FUNC float2 mul_backward(float dy, float a, float b) { return float2(dy * b, dy * a); }

template <typename F>
METAL_FUNC float activate(float x) {
  return F::at(x).value;
}

template <typename F>
METAL_FUNC float activate_backward(float dy, float x) {
  return dy * F::at(x).slope;
}

template <typename F>
METAL_FUNC float activate_mul(float a, float b) {
  return F::at(a).value * b;
}

template <typename F>
METAL_FUNC float2 activate_mul_backward(float dy, float a, float b) {
  const Point at = F::at(a);
  return float2(dy * b * at.slope, dy * at.value);
}
