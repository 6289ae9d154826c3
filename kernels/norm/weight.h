// SPDX-License-Identifier: MIT
#pragma once

#include "common/pack.h"
#include "norm/params.h"

/// Weights as factors: w, or 1 + w added in f32.
template <typename T, uint kWidth>
METAL_FUNC Floats<kWidth> weight_factors(Pack<T, kWidth> weight, uint mode) {
  Floats<kWidth> factors = weight.floats();
  if (mode == kWeightOnePlus) {
    for (uint i = 0; i < kWidth; ++i) factors.at[i] += 1.0f;
  }
  return factors;
}

/// 1 / sqrt(mean(x^2) + eps)
METAL_FUNC float rms_inv_of(float squares, long dim, float eps) {
  return 1.0f / precise::sqrt(squares / float(dim) + eps);
}
