// SPDX-License-Identifier: MIT
#pragma once

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32

/// The sum over kLanes neighbouring lanes, a power of two up to SIMD_WIDTH; every lane gets it. A
/// butterfly rather than simd_sum, whose order is the hardware's: the same bits on every GPU.
template <uint kLanes, typename T>
METAL_FUNC T lane_sum(T value) {
  static_assert((kLanes & (kLanes - 1)) == 0, "a butterfly wants a power of two");
#pragma unroll
  for (ushort distance = kLanes / 2; distance > 0; distance /= 2) {
    value += simd_shuffle_xor(value, distance);
  }
  return value;
}
