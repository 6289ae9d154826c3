// SPDX-License-Identifier: MIT
// Zeros for sums that groups are going to share (shared_sums.h).

#include <metal_stdlib>

#include "cuda/params.h"

using namespace metal;

kernel void clear_sums(device uint* words [[buffer(kClearSumsWords)]],
                       constant ClearSumsParams& params [[buffer(kClearSumsParams)]],
                       uint index [[thread_position_in_grid]]) {
  if (index < params.words) words[index] = 0;
}
