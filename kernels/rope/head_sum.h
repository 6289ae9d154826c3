// SPDX-License-Identifier: MIT
// A head's sum of squares in the order in which rms_norm sums a row of whole packs
// (common/folded_sum.h): halves of the head first, then their halves, down to neighbouring packs.
// So a norm and a rotation have the same bits in one kernel as in two.
#pragma once

#include "common/fold.h"
#include "common/lane_sum.h"
#include "rope/pairs.h"

#define PACKS_PER_LANE (2 * SLOTS)
#define PACKS_PER_TEAM (PACKS_PER_LANE * LANES_PER_HEAD)

/// The sums of a lane's packs, of one head. Folding wants packs lane, lane + LANES_PER_HEAD, ... of
/// the head. Where the packs of a slot are half a head apart, a lane has them; elsewhere
/// (EXCHANGES_SUMS) it has others and gets their sums through `team`, PACKS_PER_TEAM places.
struct HeadSum {
  float packs[PACKS_PER_LANE];

  void begin() {
#pragma unroll
    for (uint i = 0; i < PACKS_PER_LANE; ++i) packs[i] = 0.0f;
  }

  template <typename T>
  void add(uint slot, PairPacks<T> values) {
    const PackFloats a = values.a.floats(), b = values.b.floats();
    packs[slot] = add_products(a, a, 0.0f);
    packs[SLOTS + slot] = add_products(b, b, 0.0f);
  }

  /// Between this and take(), lanes of the SIMD-group wait for each other.
  void put(threadgroup float* team, LanePlaces places) const {
#pragma unroll
    for (uint i = 0; i < SLOTS; ++i) {
      const PairPlace place = places.slots[i];
      if (!place.exists) continue;
      team[place.a / VECTOR_WIDTH] = packs[i];
      team[place.b / VECTOR_WIDTH] = packs[SLOTS + i];
    }
  }

  void take(threadgroup const float* team, uint lane, uint head_dim) {
#pragma unroll
    for (uint i = 0; i < PACKS_PER_LANE; ++i) {
      const uint pack = i * LANES_PER_HEAD + lane;
      packs[i] = pack < head_dim / VECTOR_WIDTH ? team[pack] : 0.0f;
    }
  }

  float over_head() { return lane_sum<LANES_PER_HEAD>(fold<PACKS_PER_LANE>(packs)); }
};
