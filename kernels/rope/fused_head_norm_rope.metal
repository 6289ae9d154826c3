// SPDX-License-Identifier: MIT
// RMS norm of each head, then its rotary embedding; without NORMALISE, the embedding alone:
//
//   v = x * r * w                                r = 1 / sqrt(mean(x^2) + eps)
//   y = (v_a cos - v_b sin, v_b cos + v_a sin)   for each pair (a, b)
//
// LANES_PER_HEAD lanes share a head, which stays in their registers: every element is read and
// written once. A group takes some heads of a few tokens and ends: it requests everything, finds
// the angles meanwhile (angle_table.h), and many small groups on a multiprocessor cover for each
// other.

#include "rope/angle_table.h"
#include "rope/head_sum.h"
#include "rope/pairs.h"
#include "rope/params.h"
#include "rope/team_heads.h"

[[kernel, max_total_threads_per_threadgroup(LANES_PER_HEAD * TEAMS)]]
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
    uint2 at [[thread_position_in_threadgroup]]) {
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

  threadgroup float4 shared[TABLE_SIZE / 2];
  threadgroup float* table = reinterpret_cast<threadgroup float*>(shared);
#if EXCHANGES_SUMS
  threadgroup float exchange[TEAMS * HEADS_PER_TEAM * PACKS_PER_TEAM];
#endif

  const uint lane = at.x, team = at.y;
  LanePlaces places;
  places.find(lane, uint(params.head_dim), uint(params.half_rope_dim), params.pairing);
  const long tokens = long(group / GROUPS_PER_TOKEN) * TOKENS_AT_ONCE;
  const TeamHeads mine = team_heads(team, tokens, params.tokens,
                                    group % GROUPS_PER_TOKEN * HEADS_AT_ONCE, uint(params.heads));
  LanePacks<X_TYPE> xs[HEADS_PER_TEAM];
#pragma unroll
  for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
    if (mine.has(k)) xs[k].load(x + mine.offset(k, params.x), places);
  }
  LanePacks<WEIGHT_TYPE> w;
  if (HAS_WEIGHT) w.load(weight, places);

  AngleWriter angles;
  angles.prepare(params.angles, inputs, team * LANES_PER_HEAD + lane, uint(params.half_rope_dim));
  angles.fetch(params.angles, inputs, tokens, params.tokens);
  angles.write(table, params.angles.negate != 0 ? -1.0f : 1.0f);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  LaneAngles turn;
  turn.take(table, team, places);

#if NORMALISE
  // Every step is taken for all heads before the next, so that none waits for another's sum.
  HeadSum squares[HEADS_PER_TEAM];
#pragma unroll
  for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
    squares[k].begin();
#pragma unroll
    for (uint i = 0; i < SLOTS; ++i) {
      if (mine.has(k) && places.slots[i].exists) squares[k].add(i, xs[k].slots[i]);
    }
  }
#if EXCHANGES_SUMS
  threadgroup float* heads = exchange + team * HEADS_PER_TEAM * PACKS_PER_TEAM;
#pragma unroll
  for (uint k = 0; k < HEADS_PER_TEAM; ++k) squares[k].put(heads + k * PACKS_PER_TEAM, places);
  simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
    squares[k].take(heads + k * PACKS_PER_TEAM, lane, uint(params.head_dim));
  }
#endif
  const float inverse_dim = 1.0f / float(params.head_dim);
  float r[HEADS_PER_TEAM];
#pragma unroll
  for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
    r[k] = rms_inv_of(squares[k].over_head(), inverse_dim, params.eps);
  }
#endif
#pragma unroll
  for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
#pragma unroll
    for (uint i = 0; i < SLOTS; ++i) {
      const PairPlace place = places.slots[i];
      if (!mine.has(k) || !place.exists) continue;
      Pairs values = xs[k].slots[i].pairs();
#if NORMALISE
      values = multiply(values, r[k]);
#endif
      if (HAS_WEIGHT) values = multiply(values, w.slots[i].weights());
      if (place.rotates) values = rotate(values, turn.cosines[i], turn.sines[i]);
      if (HAS_COPY) store_pairs(values, copy + mine.offset(k, params.copy), place);
      store_pairs(values, y + mine.offset(k, params.y), place);
    }
  }
}
