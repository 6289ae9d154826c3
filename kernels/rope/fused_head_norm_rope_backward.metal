// SPDX-License-Identifier: MIT
// Gradients of fused_head_norm_rope:
//
//   g  = dy rotated backward
//   dx = r * (g * w - x * s * r^2 / head_dim)                 s = sum(g * x * w)
//   dw_partial[group] = sum of g * x * r over the group's heads, in a fixed order
//
// Laid out as the forward pass: a head stays in the registers of its lanes, 3 * head_dim elements
// of traffic a head. With dw, a group takes the tokens of one partial.

#include "common/lane_sum.h"
#include "rope/head_index.h"
#include "rope/lane_angles.h"
#include "rope/pairs.h"
#include "rope/params.h"

#define MAX_HEAD_DIM (LANES_PER_HEAD * SLOTS * VECTOR_WIDTH * 2)

[[kernel, max_total_threads_per_threadgroup(LANES_PER_HEAD * HEADS_PER_GROUP)]]
void fused_head_norm_rope_backward(
    device const X_TYPE* x [[buffer(kHeadNormRopeBackwardX)]],
#if HAS_WEIGHT
    device const WEIGHT_TYPE* weight [[buffer(kHeadNormRopeBackwardWeight)]],
#endif
#if HAS_POSITIONS
    device const uint* positions [[buffer(kHeadNormRopeBackwardPositions)]],
#endif
#if HAS_FREQ_FACTORS
    device const float* freq_factors [[buffer(kHeadNormRopeBackwardFreqFactors)]],
#endif
#if HAS_CACHE
    device const float* cos [[buffer(kHeadNormRopeBackwardCos)]],
    device const float* sin [[buffer(kHeadNormRopeBackwardSin)]],
#endif
    device const X_TYPE* dy [[buffer(kHeadNormRopeBackwardDy)]],
#if HAS_DX
    device X_TYPE* dx [[buffer(kHeadNormRopeBackwardDx)]],
#endif
#if HAS_DW
    device float* dw_partial [[buffer(kHeadNormRopeBackwardDwPartial)]],
#endif
    constant HeadNormRopeBackwardParams& params [[buffer(kHeadNormRopeBackwardParams)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#if !HAS_WEIGHT
  device const WEIGHT_TYPE* weight = nullptr;
#endif
#if !HAS_DX
  device X_TYPE* dx = nullptr;
#endif
  AngleInputs inputs = {nullptr, nullptr, nullptr, nullptr};
#if HAS_POSITIONS
  inputs.positions = positions;
#endif
#if HAS_FREQ_FACTORS
  inputs.freq_factors = freq_factors;
#endif
#if HAS_CACHE
  inputs.cos = cos;
  inputs.sin = sin;
#endif

  const uint lane = index % LANES_PER_HEAD, team = index / LANES_PER_HEAD;
  PairPlace places[SLOTS];
  PairPacks<X_TYPE> xs[SLOTS], dys[SLOTS];
  PairPacks<WEIGHT_TYPE> w[SLOTS];
  Pairs g[SLOTS], dw[SLOTS];
  for (uint slot = 0; slot < SLOTS; ++slot) {
    places[slot] = pair_place(slot, lane, uint(params.head_dim), uint(params.half_rope_dim),
                              params.pairing);
    if (HAS_WEIGHT && places[slot].exists) w[slot].load(weight, places[slot]);
    dw[slot].a = dw[slot].b = splat<VECTOR_WIDTH>(0.0f);
  }
  LaneAngles angles;
  angles.prepare(params.angles, inputs, places);

  const uint heads = uint(params.heads);
  const long rows = params.tokens * params.heads;
  const long share = HAS_DW ? params.tokens_per_partial * params.heads : (rows - 1) / groups + 1;
  const long first = group * share;
  const long end = first + share < rows ? first + share : rows;
  const HeadIndex from = head_index(first, heads);
  for (long together = first; together < end; together += HEADS_PER_GROUP) {
    const bool exists = together + team < end;
    const HeadIndex at = advance(from, uint(together - first) + team, heads);
#pragma unroll
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (!exists || !places[slot].exists) continue;
      xs[slot].load(x + head_offset(at, params.x), places[slot]);
      dys[slot].load(dy + head_offset(at, params.dy), places[slot]);
    }
    if (exists) angles.select(params.angles, inputs, places, at.token, true);
    float2 sums = float2(0.0f);  // of x^2 and of g * w * x
#pragma unroll
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (!exists || !places[slot].exists) continue;
      const Pairs values = xs[slot].pairs();
      g[slot] = dys[slot].pairs();
      if (places[slot].rotates) g[slot] = rotate(g[slot], angles.rotations[slot]);
      Pairs wg = g[slot];
      if (HAS_WEIGHT) wg = multiply(wg, w[slot].weights(params.weight_mode));
      sums.x = add_products(values, values, sums.x);
      sums.y = add_products(wg, values, sums.y);
    }
    sums = lane_sum<LANES_PER_HEAD>(sums);
    const float r = rms_inv_of(sums.x, params.head_dim, params.eps);
    const float x_factor = -(sums.y / float(params.head_dim) * r * (r * r));
#pragma unroll
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (!exists || !places[slot].exists) continue;
      const Pairs values = xs[slot].pairs(), gr = multiply(g[slot], r);
      dw[slot] = multiply_add(gr, values, dw[slot]);
      if (HAS_DX) {
        Pairs gradient = gr;
        if (HAS_WEIGHT) gradient = multiply(gr, w[slot].weights(params.weight_mode));
        gradient = multiply_add(values, x_factor, gradient);
        store_pairs(gradient, dx + head_offset(at, params.dx), places[slot]);
      }
    }
  }

#if HAS_DW
  // The heads that went together add up in their order; neighbouring threads write neighbours.
  threadgroup float shared[HEADS_PER_GROUP * MAX_HEAD_DIM];
  const uint head_dim = uint(params.head_dim);
  for (uint slot = 0; slot < SLOTS; ++slot) {
    if (!places[slot].exists) continue;
    const Pairs packs = to_packs(dw[slot]);
    for (uint k = 0; k < VECTOR_WIDTH; ++k) {
      shared[team * head_dim + places[slot].a + k] = packs.a.at[k];
      shared[team * head_dim + places[slot].b + k] = packs.b.at[k];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = index; i < head_dim; i += LANES_PER_HEAD * HEADS_PER_GROUP) {
    float sum = shared[i];
    for (uint k = 1; k < HEADS_PER_GROUP; ++k) sum += shared[k * head_dim + i];
    dw_partial[group * params.head_dim + i] = sum;
  }
#endif
}
