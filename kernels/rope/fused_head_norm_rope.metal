// SPDX-License-Identifier: MIT
// RMS norm of each head, then its rotary embedding; without NORMALISE, the embedding alone:
//
//   v = x * r * w                                r = 1 / sqrt(mean(x^2) + eps)
//   y = (v_a cos - v_b sin, v_b cos + v_a sin)   for each pair (a, b)
//
// LANES_PER_HEAD lanes share a head, which stays in their registers: every element is read and
// written once. Angles come from a table that the group's threads fill together (angle_table.h). A
// lane keeps its weights throughout, and requests its next head before it works on this one.

#include "common/lane_sum.h"
#include "rope/angle_table.h"
#include "rope/head_walk.h"
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

  threadgroup float4 tables[TABLE_SIZE];  // cosines and sines, twice
  threadgroup float* cosines = reinterpret_cast<threadgroup float*>(tables);

  const uint lane = index % LANES_PER_HEAD;
  PairPlace places[SLOTS];
  PairPacks<X_TYPE> xs[SLOTS], next[SLOTS];
  PairPacks<WEIGHT_TYPE> w[SLOTS];
  for (uint slot = 0; slot < SLOTS; ++slot) {
    places[slot] = pair_place(slot, lane, uint(params.head_dim), uint(params.half_rope_dim),
                              params.pairing);
    if (HAS_WEIGHT && places[slot].exists) w[slot].load(weight, places[slot]);
  }

  const TokenRange range = tokens_of(group, groups, params.tokens);
  HeadWalk walk = walk_from(range.begin, index / LANES_PER_HEAD, params.heads);
  HeadOffset x_at, y_at, copy_at;
  x_at.start(walk, params.x);
  y_at.start(walk, params.y);
  if (HAS_COPY) copy_at.start(walk, params.copy);
#pragma unroll
  for (uint slot = 0; slot < SLOTS; ++slot) {
    if (walk.token >= range.end || !places[slot].exists) continue;
    next[slot].load(x + x_at.at, places[slot]);
  }
  AngleWriter angles;
  angles.prepare(params.angles, inputs, index, uint(params.half_rope_dim));
  angles.fetch(params.angles, inputs, range.begin, range.end);

  const float inverse_dim = 1.0f / float(params.head_dim);
  const float sign = params.angles.negate != 0 ? -1.0f : 1.0f;
  const uint rounds = uint(params.heads) / HEAD_STEP * (TOKENS_AT_ONCE / TOKEN_STEP);
  uint turn = 0;
  for (long tokens = range.begin; tokens < range.end; tokens += TOKENS_AT_ONCE) {
    threadgroup const float* table = cosines + turn;
    angles.write(cosines + turn, cosines + turn + TABLE_SIZE, sign);
    turn = 2 * TABLE_SIZE - turn;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    angles.fetch(params.angles, inputs, tokens + TOKENS_AT_ONCE, range.end);

    for (uint round = 0; round < rounds; ++round) {
      const HeadWalk here = walk;
      const bool exists = here.token < range.end;
      const uint token_angles = uint(here.token - tokens) * PAIRS;
      x_at.step(here);
      walk.step();
      float squares = 0.0f;
#pragma unroll
      for (uint slot = 0; slot < SLOTS; ++slot) {
        if (!places[slot].exists) continue;
        xs[slot] = next[slot];
        if (walk.token < range.end) next[slot].load(x + x_at.at, places[slot]);
      }
#pragma unroll
      for (uint slot = 0; slot < SLOTS; ++slot) {
        if (!NORMALISE || !exists || !places[slot].exists) continue;
        const Pairs values = xs[slot].pairs();
        squares = add_products(values, values, squares);
      }
      float r = 1.0f;
      if (NORMALISE) {
        r = rms_inv_of(lane_sum<LANES_PER_HEAD>(squares), inverse_dim, params.eps);
      }
#pragma unroll
      for (uint slot = 0; slot < SLOTS; ++slot) {
        if (!exists || !places[slot].exists) continue;
        Pairs values = xs[slot].pairs();
        if (NORMALISE) values = multiply(values, r);
        if (HAS_WEIGHT) values = multiply(values, w[slot].weights());
        if (places[slot].rotates) {
          const uint angle = token_angles + places[slot].pair;
          values = rotate(values, load_shared(table + angle),
                          load_shared(table + TABLE_SIZE + angle));
        }
        if (HAS_COPY) store_pairs(values, copy + copy_at.at, places[slot]);
        store_pairs(values, y + y_at.at, places[slot]);
      }
      y_at.step(here);
      if (HAS_COPY) copy_at.step(here);
    }
  }
}
