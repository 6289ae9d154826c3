// SPDX-License-Identifier: MIT
// Cosines and sines of the angles by which pairs rotate, without double.
//
// angle = position * theta^(-2i / frequency_dim) / freq_factors[i]. A float cannot hold such an
// angle at long contexts: 131071 rad leaves 2^-7 for the fraction. So frequencies are sums of two
// floats (46 bits), counted in turns; the whole turns of a product are dropped exactly, and only
// the fraction is rounded. The error stays below 1e-6 rad up to position 2^24, and below 1e-4 up
// to 2^32.
#pragma once

#include "common/pack.h"
#include "rope/params.h"

METAL_FUNC TwoFloats multiply(TwoFloats a, TwoFloats b) {
  const float product = a.high * b.high;
  float error = fma(a.high, b.high, -product);
  error = fma(a.high, b.low, fma(a.low, b.high, error));
  TwoFloats result;
  result.high = product + error;
  result.low = error - (result.high - product);
  return result;
}

METAL_FUNC TwoFloats divide(TwoFloats a, float b) {
  TwoFloats result;
  result.high = a.high / b;
  // Nothing remains of a division by infinity, which stands for a pair that never turns.
  result.low = result.high == 0.0f ? 0.0f : (fma(-result.high, b, a.high) + a.low) / b;
  return result;
}

/// Turns of a pair, one of `pairs`, from a position to the next.
METAL_FUNC TwoFloats frequency_of(constant RopeAngleParams& params, uint pair, uint pairs) {
  TwoFloats frequency = params.powers[0][pair % kDigitValues];
#pragma unroll
  for (uint digit = 1; digit < kPairDigits; ++digit) {
    const uint shift = digit * kDigitBits;
    if ((pairs - 1) >> shift == 0) break;
    frequency = multiply(frequency, params.powers[digit][(pair >> shift) % kDigitValues]);
  }
  return frequency;
}

/// Cosine and sine of `turns` in [-0.5, 0.5], to 3e-7; exactly 1 and 0 for 0.
METAL_FUNC float2 cos_sin(float turns) {
  // h in [-0.5, 0.5] half turns, at most one half turn away from the angle, which flips both signs.
  const float half_turns = turns + turns;
  const float flips = rint(half_turns);
  const float h = half_turns - flips;
  const float sign = fma(fabs(flips), -2.0f, 1.0f);
  const float u = h * h;
  // Minimax polynomials of sin(pi h) / h and cos(pi h) in h^2.
  float p = fma(0.077659406f, u, -0.59829217f);
  p = fma(p, u, 2.5500777f);
  p = fma(p, u, -5.1677103f);
  p = fma(p, u, 3.1415927f);
  float q = fma(-0.024396718f, u, 0.23493756f);
  q = fma(q, u, -1.3352121f);
  q = fma(q, u, 4.0587091f);
  q = fma(q, u, -4.9348021f);
  q = fma(q, u, 1.0f);
  return float2(q * sign, p * h * sign);
}

/// Cosine and sine of a pair's angle at a position.
METAL_FUNC float2 cos_sin_of(TwoFloats frequency, long position) {
  const float high = float(position), low = float(position - long(high));
  const float product = high * frequency.high;
  const float error = fma(high, frequency.high, -product);
  float turns =
      (product - rint(product)) + fma(high, frequency.low, fma(low, frequency.high, error));
  turns -= rint(turns);
  return cos_sin(turns);
}
