// SPDX-License-Identifier: MIT
// Exponentials and quotients of elementwise functions, of f32 for OUT_TYPE. For f32 results they
// are steps that every backend has, no library functions, so that all of them round alike. Results
// of 16 bits need fewer digits than what GPUs have in hardware: arithmetic is their limit.
// src/backends/cpu/elementwise/exponential-inl.h has vectors of them.
#pragma once

#include <metal_stdlib>

using namespace metal;

constant constexpr bool kShort = sizeof(OUT_TYPE) == 2;

/// n / d; kShort: within two units of the last place, for a d from 2^-126 to 2^126.
METAL_FUNC float quotient(float n, float d) { return kShort ? fast::divide(n, d) : n / d; }

/// Tails of the functions are products of a small exponential and of other factors. They are
/// multiplied as 2^64 times their value and brought down last, so that only the result is rounded
/// where it is subnormal.
template <typename T>
struct Tails {
  enum : int { kRaise = 64 };
  static constexpr float down() { return 0x1p-64f; }
};
/// Those of half end long before those of float.
template <>
struct Tails<half> {
  enum : int { kRaise = 0 };
  static constexpr float down() { return 1.0f; }
};
constant constexpr float kDown = Tails<OUT_TYPE>::down();

/// e^z = 2^k * (1 + m), |m| < 0.42.
struct Exponential {
  uint k;  // in the low bits
  float m;

  /// 2^(k + up); its exponent must be that of a normal number.
  float power(int up) const { return as_type<float>((k + uint(127 + up)) << 23); }
};

/// expm1(r) = r + r^2 * p(r) for |r| <= ln(2) / 2, within 2^-26 of e^r
METAL_FUNC float small_exp_minus_one(float r) {
  float p = fma(r, 0x1.6d113cp-10f, 0x1.120ba2p-7f);
  p = fma(r, p, 0x1.55551ap-5f);
  p = fma(r, p, 0x1.5554dcp-3f);
  p = fma(r, p, 0.5f);
  return fma(r * r, p, r);
}

/// Of z + rest, where rest is too small to change k. A NaN stays one in m.
METAL_FUNC Exponential exponential(float z, float rest) {
  constexpr float kRounder = 0x1.8p23f;  // adding it leaves an integer in the low bits
  const float shifted = fma(z, 0x1.715476p+0f, kRounder);
  const float k = shifted - kRounder;
  // ln 2 in two parts, the first so short that its products are exact.
  const float r = fma(k, 0x1.bd0106p-13f, fma(k, -0x1.63p-1f, z)) + rest;
  return {as_type<uint>(shifted), small_exp_minus_one(r)};
}

constant constexpr float kLog2E = 0x1.715476p+0f;

/// e^(z + rest) / kDown for -130 <= z <= 0.
METAL_FUNC float raised_exp(float z, float rest = 0.0f) {
  constexpr int kRaise = Tails<OUT_TYPE>::kRaise;
  if (kShort) return exp2(fma(z, kLog2E, float(kRaise)));
  const Exponential e = exponential(z, rest);
  const float power = e.power(kRaise);
  return fma(power, e.m, power);
}

/// e^z - 1 for -80 <= z <= 0, without cancellation.
METAL_FUNC float exp_minus_one(float z) {
  if (kShort) return z > -0.34f ? small_exp_minus_one(z) : exp2(z * kLog2E) - 1.0f;
  const Exponential e = exponential(z, 0.0f);
  const float power = e.power(0);
  return fma(power, e.m, power - 1.0f);
}

/// min(a, limit), but a NaN stays one.
METAL_FUNC float at_most(float a, float limit) { return a > limit ? limit : a; }
