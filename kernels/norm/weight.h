// SPDX-License-Identifier: MIT
#pragma once

#include "common/pack.h"
#include "norm/params.h"

/// Weights as factors: w, or 1 + w added in f32.
template <typename T, uint kWidth>
METAL_FUNC Floats<kWidth> weight_factors(Pack<T, kWidth> weight) {
  Floats<kWidth> factors = weight.floats();
#if WEIGHT_ONE_PLUS
  for (uint i = 0; i < kWidth; ++i) factors.at[i] += 1.0f;
#endif
  return factors;
}

/// 1 / sqrt(mean(x^2) + eps); 1 / dim is rounded once a kernel, which costs r a quarter of an ulp.
METAL_FUNC float rms_inv_of(float squares, float inverse_dim, float eps) {
  return 1.0f / precise::sqrt(squares * inverse_dim + eps);
}
