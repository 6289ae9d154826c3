// SPDX-License-Identifier: MIT
#pragma once

#include <metal_stdlib>

using namespace metal;

/// Adds up values[0 .. kCount), 32 at most, halves first: the order follows from the places alone.
template <uint kCount>
METAL_FUNC float fold(thread float* values) {
  static_assert(kCount <= 32, "more are left out");
#pragma unroll
  for (uint distance = 16; distance > 0; distance /= 2) {
#pragma unroll
    for (uint i = 0; i < 16; ++i) {  // as many for every distance, or they are not unrolled
      if (i < distance && i + distance < kCount) values[i] += values[i + distance];
    }
  }
  return values[0];
}
