// SPDX-License-Identifier: MIT
// Gradients of fused_head_norm_rope:
//
//   g  = dy rotated backward
//   dx = r * (g * w - x * s * r^2 / head_dim)                 s = sum(g * x * w)
//   dw_partial[group] = sum of g * x * r over the group's heads, in a fixed order
//
// Laid out as the forward pass: a head stays in the registers of its lanes, 3 * head_dim elements
// of traffic a head. With dw, a group goes through many heads and writes one partial; others cover
// for it while it waits for what it has requested.

#include "common/lane_sum.h"
#include "rope/angle_table.h"
#include "rope/team_heads.h"
#include "rope/pairs.h"
#include "rope/params.h"

// Threadgroup memory, in floats: tables of cosines and sines, twice; in the end, dw of every team.
#define MAX_HEAD_DIM (PAIRS * 2)
#if HAS_DW && TEAMS * MAX_HEAD_DIM > 4 * TABLE_SIZE
#define MEMORY_SIZE (TEAMS * MAX_HEAD_DIM)
#else
#define MEMORY_SIZE (4 * TABLE_SIZE)
#endif

// Bounds a lane's registers: four groups of 128 threads fit on a multiprocessor, where no lane
// holds more than eight pairs.
#if VECTOR_WIDTH * SLOTS > 8
#define MOST_THREADS 256
#else
#define MOST_THREADS 512
#endif

[[kernel, max_total_threads_per_threadgroup(MOST_THREADS)]]
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
    uint2 at [[thread_position_in_threadgroup]]) {
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

  threadgroup float4 memory[MEMORY_SIZE / 4];
  threadgroup float* shared = reinterpret_cast<threadgroup float*>(memory);

  const uint lane = at.x, team = at.y, index = team * LANES_PER_HEAD + lane;
  LanePlaces places;
  places.find(lane, uint(params.head_dim), uint(params.half_rope_dim), params.pairing);
  Pairs dw[SLOTS];
  for (uint i = 0; i < SLOTS; ++i) dw[i].a = dw[i].b = splat<VECTOR_WIDTH>(0.0f);
  AngleWriter angles;
  angles.prepare(params.angles, inputs, index, uint(params.half_rope_dim));

  const uint heads = uint(params.heads);
  const HeadSteps steps = group_steps(params.tokens, heads, group, groups);
  const float inverse_dim = 1.0f / float(params.head_dim);
  threadgroup float* table = shared;
  LaneAngles turn;
  HeadStep step = head_step(steps.begin, heads);
  for (long left = steps.count; left > 0; --left, step.advance(heads)) {
    const TeamHeads mine = team_heads(team, step.token, params.tokens, step.first_head, heads);
    LanePacks<X_TYPE> xs[HEADS_PER_TEAM], dys[HEADS_PER_TEAM];
#pragma unroll
    for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
      if (!mine.has(k)) continue;
      xs[k].load(x + mine.offset(k, params.x), places);
      dys[k].load(dy + mine.offset(k, params.dy), places);
    }
    LanePacks<WEIGHT_TYPE> w;  // again and again: in registers throughout, they would be floats
    if (HAS_WEIGHT) w.load(weight, places);
    if (step.first_head == 0 || left == steps.count) {
      angles.fetch(params.angles, inputs, step.token, params.tokens);
      angles.write(table, -1.0f);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      turn.take(table, team, places);
      // Two tables take turns, so that one barrier is enough.
      table = table == shared ? shared + 2 * TABLE_SIZE : shared;
    }
#pragma unroll
    for (uint k = 0; k < HEADS_PER_TEAM; ++k) {
      Pairs g[SLOTS];
      float2 sums = float2(0.0f);  // of x^2 and of g * w * x
#pragma unroll
      for (uint i = 0; i < SLOTS; ++i) {
        if (!mine.has(k) || !places.slots[i].exists) continue;
        const Pairs values = xs[k].slots[i].pairs();
        g[i] = dys[k].slots[i].pairs();
        if (places.slots[i].rotates) g[i] = rotate(g[i], turn.cosines[i], turn.sines[i]);
        Pairs wg = g[i];
        if (HAS_WEIGHT) wg = multiply(wg, w.slots[i].weights());
        sums.x = add_products(values, values, sums.x);
        sums.y = add_products(wg, values, sums.y);
      }
      sums = lane_sum<LANES_PER_HEAD>(sums);
      const float r = rms_inv_of(sums.x, inverse_dim, params.eps);
      const float x_factor = -(sums.y * inverse_dim * r * (r * r));
#pragma unroll
      for (uint i = 0; i < SLOTS; ++i) {
        if (!mine.has(k) || !places.slots[i].exists) continue;
        const Pairs values = xs[k].slots[i].pairs(), gr = multiply(g[i], r);
        if (HAS_DW) dw[i] = multiply_add(gr, values, dw[i]);
        if (HAS_DX) {
          Pairs gradient = gr;
          if (HAS_WEIGHT) gradient = multiply(gr, w.slots[i].weights());
          gradient = multiply_add(values, x_factor, gradient);
          store_pairs(gradient, dx + mine.offset(k, params.dx), places.slots[i]);
        }
      }
    }
  }

#if HAS_DW
  // The heads that went together add up in their order; neighbouring threads write neighbours.
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint head_dim = uint(params.head_dim);
  for (uint i = 0; i < SLOTS; ++i) {
    const PairPlace place = places.slots[i];
    if (!place.exists) continue;
    const Pairs packs = to_packs(dw[i]);
    for (uint k = 0; k < VECTOR_WIDTH; ++k) {
      shared[team * head_dim + place.a + k] = packs.a.at[k];
      shared[team * head_dim + place.b + k] = packs.b.at[k];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = index; i < head_dim; i += THREADS) {
    float sum = shared[i];
    for (uint k = 1; k < TEAMS; ++k) sum += shared[k * head_dim + i];
    dw_partial[group * params.head_dim + i] = sum;
  }
#endif
}
