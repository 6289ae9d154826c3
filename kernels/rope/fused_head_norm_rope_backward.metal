// SPDX-License-Identifier: MIT
// Gradients of fused_head_norm_rope:
//
//   g  = dy rotated backward
//   dx = r * (g * w - x * s * r^2 / head_dim)                 s = sum(g * x * w)
//   dw_partial[group] = sum of g * x * r over the group's heads, in a fixed order
//
// Laid out as the forward pass: a head stays in the registers of its lanes, 3 * head_dim elements
// of traffic a head. With dw, each group writes one partial.

#include "common/lane_sum.h"
#include "rope/angle_table.h"
#include "rope/head_walk.h"
#include "rope/pairs.h"
#include "rope/params.h"

// Threadgroup memory, in floats: tables of cosines and sines, twice; in the end, dw of every team.
#define MAX_HEAD_DIM (PAIRS * 2)
#if HAS_DW && HEADS_PER_GROUP * MAX_HEAD_DIM > 4 * TABLE_SIZE
#define MEMORY_SIZE (HEADS_PER_GROUP * MAX_HEAD_DIM)
#else
#define MEMORY_SIZE (4 * TABLE_SIZE)
#endif

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

  threadgroup float4 memory[MEMORY_SIZE / 4];
  threadgroup float* cosines = reinterpret_cast<threadgroup float*>(memory);

  const uint lane = index % LANES_PER_HEAD, team = index / LANES_PER_HEAD;
  PairPlace places[SLOTS];
  PairPacks<X_TYPE> xs[SLOTS], dys[SLOTS], next_xs[SLOTS], next_dys[SLOTS];
  PairPacks<WEIGHT_TYPE> w[SLOTS];
  Pairs g[SLOTS], dw[SLOTS];
  for (uint slot = 0; slot < SLOTS; ++slot) {
    places[slot] = pair_place(slot, lane, uint(params.head_dim), uint(params.half_rope_dim),
                              params.pairing);
    if (HAS_WEIGHT && places[slot].exists) w[slot].load(weight, places[slot]);
    dw[slot].a = dw[slot].b = splat<VECTOR_WIDTH>(0.0f);
  }

  const TokenRange range = tokens_of(group, groups, params.tokens);
  HeadWalk walk = walk_from(range.begin, team, params.heads);
  HeadOffset x_at, dy_at, dx_at;
  x_at.start(walk, params.x);
  dy_at.start(walk, params.dy);
  dx_at.start(walk, params.dx);
#pragma unroll
  for (uint slot = 0; slot < SLOTS; ++slot) {
    if (walk.token >= range.end || !places[slot].exists) continue;
    next_xs[slot].load(x + x_at.at, places[slot]);
    next_dys[slot].load(dy + dy_at.at, places[slot]);
  }
  AngleWriter angles;
  angles.prepare(params.angles, inputs, index, uint(params.half_rope_dim));
  angles.fetch(params.angles, inputs, range.begin, range.end);

  const float inverse_dim = 1.0f / float(params.head_dim);
  const uint rounds = uint(params.heads) / HEAD_STEP * (TOKENS_AT_ONCE / TOKEN_STEP);
  uint turn = 0;
  for (long tokens = range.begin; tokens < range.end; tokens += TOKENS_AT_ONCE) {
    threadgroup const float* table = cosines + turn;
    angles.write(cosines + turn, cosines + turn + TABLE_SIZE, -1.0f);
    turn = 2 * TABLE_SIZE - turn;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    angles.fetch(params.angles, inputs, tokens + TOKENS_AT_ONCE, range.end);

    for (uint round = 0; round < rounds; ++round) {
      const HeadWalk here = walk;
      const bool exists = here.token < range.end;
      const uint token_angles = uint(here.token - tokens) * PAIRS;
      x_at.step(here);
      dy_at.step(here);
      walk.step();
#pragma unroll
      for (uint slot = 0; slot < SLOTS; ++slot) {
        if (!places[slot].exists) continue;
        xs[slot] = next_xs[slot];
        dys[slot] = next_dys[slot];
        if (walk.token >= range.end) continue;
        next_xs[slot].load(x + x_at.at, places[slot]);
        next_dys[slot].load(dy + dy_at.at, places[slot]);
      }
      float2 sums = float2(0.0f);  // of x^2 and of g * w * x
#pragma unroll
      for (uint slot = 0; slot < SLOTS; ++slot) {
        if (!exists || !places[slot].exists) continue;
        const Pairs values = xs[slot].pairs();
        g[slot] = dys[slot].pairs();
        if (places[slot].rotates) {
          const uint angle = token_angles + places[slot].pair;
          g[slot] = rotate(g[slot], load_shared(table + angle),
                           load_shared(table + TABLE_SIZE + angle));
        }
        Pairs wg = g[slot];
        if (HAS_WEIGHT) wg = multiply(wg, w[slot].weights());
        sums.x = add_products(values, values, sums.x);
        sums.y = add_products(wg, values, sums.y);
      }
      sums = lane_sum<LANES_PER_HEAD>(sums);
      const float r = rms_inv_of(sums.x, inverse_dim, params.eps);
      const float x_factor = -(sums.y * inverse_dim * r * (r * r));
#pragma unroll
      for (uint slot = 0; slot < SLOTS; ++slot) {
        if (!exists || !places[slot].exists) continue;
        const Pairs values = xs[slot].pairs(), gr = multiply(g[slot], r);
        if (HAS_DW) dw[slot] = multiply_add(gr, values, dw[slot]);
        if (HAS_DX) {
          Pairs gradient = gr;
          if (HAS_WEIGHT) gradient = multiply(gr, w[slot].weights());
          gradient = multiply_add(values, x_factor, gradient);
          store_pairs(gradient, dx + dx_at.at, places[slot]);
        }
      }
      dx_at.step(here);
    }
  }

#if HAS_DW
  // The heads that went together add up in their order; neighbouring threads write neighbours.
  threadgroup float* shared = cosines;
  threadgroup_barrier(mem_flags::mem_threadgroup);
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
