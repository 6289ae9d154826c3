// SPDX-License-Identifier: MIT
// One cheap thread an element: what starting a thread costs.
#include <metal_stdlib>
using namespace metal;

kernel void softsign(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  x[i] = x[i] / (1 + abs(x[i]));
}
