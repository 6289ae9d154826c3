// SPDX-License-Identifier: MIT
// RMS norm of each head, then its rotary embedding; without NORMALISE, the embedding alone:
//
//   v = x * r * w                                r = 1 / sqrt(mean(x^2) + eps)
//   y = (v_a cos - v_b sin, v_b cos + v_a sin)   for each pair (a, b)
//
// LANES_PER_HEAD lanes share a head, which stays in their registers: every element is read and
// written once, and no threadgroup memory is needed. A group takes HEADS_PER_GROUP heads at once,
// some times over; a lane keeps its weights and frequencies throughout, and its cosines and sines
// as long as the token stays the same.

#include "common/lane_sum.h"
#include "rope/head_index.h"
#include "rope/lane_angles.h"
#include "rope/pairs.h"
#include "rope/params.h"

[[kernel, max_total_threads_per_threadgroup(LANES_PER_HEAD * HEADS_PER_GROUP)]]
void fused_head_norm_rope(
    device const X_TYPE* x [[buffer(kHeadNormRopeX)]],
#if HAS_WEIGHT
    device const WEIGHT_TYPE* weight [[buffer(kHeadNormRopeWeight)]],
#endif
#if HAS_POSITIONS
    device const uint* positions [[buffer(kHeadNormRopePositions)]],
#endif
#if HAS_FREQ_FACTORS
    device const float* freq_factors [[buffer(kHeadNormRopeFreqFactors)]],
#endif
#if HAS_CACHE
    device const float* cos [[buffer(kHeadNormRopeCos)]],
    device const float* sin [[buffer(kHeadNormRopeSin)]],
#endif
    device X_TYPE* y [[buffer(kHeadNormRopeY)]],
#if HAS_COPY
    device COPY_TYPE* copy [[buffer(kHeadNormRopeCopy)]],
#endif
    constant HeadNormRopeParams& params [[buffer(kHeadNormRopeParams)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#if !HAS_WEIGHT
  device const WEIGHT_TYPE* weight = nullptr;
#endif
#if !HAS_COPY
  device COPY_TYPE* copy = nullptr;
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

  const uint lane = index % LANES_PER_HEAD;
  PairPlace places[SLOTS];
  PairPacks<X_TYPE> xs[SLOTS];
  PairPacks<WEIGHT_TYPE> w[SLOTS];
  for (uint slot = 0; slot < SLOTS; ++slot) {
    places[slot] = pair_place(slot, lane, uint(params.head_dim), uint(params.half_rope_dim),
                              params.pairing);
    if (HAS_WEIGHT && places[slot].exists) w[slot].load(weight, places[slot]);
  }
  LaneAngles angles;
  angles.prepare(params.angles, inputs, places);

  const uint heads = uint(params.heads);
  const long rows = params.tokens * params.heads;
  const long rounds = (rows - 1) / (long(groups) * HEADS_PER_GROUP) + 1;
  const long first = group * rounds * HEADS_PER_GROUP;
  const HeadIndex from = head_index(first, heads);
  for (uint round = 0; round < uint(rounds); ++round) {
    const uint count = round * HEADS_PER_GROUP + index / LANES_PER_HEAD;
    const bool exists = first + count < rows;
    const HeadIndex at = advance(from, count, heads);
    float squares = 0.0f;
#pragma unroll
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (!exists || !places[slot].exists) continue;
      xs[slot].load(x + head_offset(at, params.x), places[slot]);
    }
#pragma unroll
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (!NORMALISE || !exists || !places[slot].exists) continue;
      const Pairs values = xs[slot].pairs();
      squares = add_products(values, values, squares);
    }
    if (exists) angles.select(params.angles, inputs, places, at.token, params.angles.negate != 0);
    float r = 1.0f;
    if (NORMALISE) {
      r = rms_inv_of(lane_sum<LANES_PER_HEAD>(squares), params.head_dim, params.eps);
    }
#pragma unroll
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (!exists || !places[slot].exists) continue;
      Pairs values = xs[slot].pairs();
      if (NORMALISE) values = multiply(values, r);
      if (HAS_WEIGHT) values = multiply(values, w[slot].weights(params.weight_mode));
      if (places[slot].rotates) values = rotate(values, angles.rotations[slot]);
      if (HAS_COPY) store_pairs(values, copy + head_offset(at, params.copy), places[slot]);
      store_pairs(values, y + head_offset(at, params.y), places[slot]);
    }
  }
}
