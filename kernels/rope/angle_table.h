// SPDX-License-Identifier: MIT
// Cosines and sines of TOKENS_AT_ONCE tokens: found once a token, by the threads of the group
// together, and passed on through threadgroup memory. A lane rotates the same pairs of every head,
// so that it keeps its angles in registers.
#pragma once

#include "rope/angles.h"
#include "rope/pairs.h"
#include "rope/team_heads.h"

#define THREADS (LANES_PER_HEAD * TEAMS)
#define PAIRS (LANES_PER_HEAD * SLOTS * VECTOR_WIDTH)  // of a head, or more: a power of two
#define TABLE_SIZE (TOKENS_AT_ONCE * PAIRS)
#if TABLE_SIZE > THREADS
#define ANGLES_PER_THREAD (TABLE_SIZE / THREADS)
#else
#define ANGLES_PER_THREAD 1
#endif
/// A thread's entries repeat the same pairs: frequencies are found once a kernel.
#if PAIRS > THREADS
#define FREQUENCIES_PER_THREAD (PAIRS / THREADS)
#else
#define FREQUENCIES_PER_THREAD 1
#endif

/// Where angles come from; null what is absent.
struct AngleInputs {
  device const uint* positions;
  device const float *freq_factors, *cos, *sin;
};

METAL_FUNC long position_of(constant RopeAngleParams& params, AngleInputs inputs, long token) {
  if (!HAS_POSITIONS) return params.first_position + token;
  const uint position = inputs.positions[token * params.position_stride];
  return params.signed_positions ? long(as_type<int>(position)) : long(position);
}

/// What one thread puts into a table: first it requests what that needs, later it writes.
struct AngleWriter {
  uint index, rotating;
#if HAS_CACHE
  float2 fetched[ANGLES_PER_THREAD];
#else
  TwoFloats frequencies[FREQUENCIES_PER_THREAD];
  long positions[ANGLES_PER_THREAD];
#endif

  void prepare(constant RopeAngleParams& params, AngleInputs inputs, uint thread_index,
               uint rotating_pairs) {
    index = thread_index;
    rotating = rotating_pairs;
#if !HAS_CACHE
#pragma unroll
    for (uint i = 0; i < FREQUENCIES_PER_THREAD; ++i) {
      const uint pair = (index + i * THREADS) % PAIRS;
      if (!rotates(pair)) continue;
      frequencies[i] = frequency_of(params, pair, PAIRS);
      if (HAS_FREQ_FACTORS) frequencies[i] = divide(frequencies[i], inputs.freq_factors[pair]);
    }
#endif
  }

  bool rotates(uint pair) const { return (ALL_ROTATE && WHOLE_HEADS) || pair < rotating; }
  bool owns(uint entry) const {
    return (TABLE_SIZE % THREADS == 0 || entry < TABLE_SIZE) && rotates(entry % PAIRS);
  }

  /// For the tokens from `first` on, of which those past the last, before `end`, get its angles.
  void fetch(constant RopeAngleParams& params, AngleInputs inputs, long first, long end) {
#pragma unroll
    for (uint i = 0; i < ANGLES_PER_THREAD; ++i) {
      const uint entry = index + i * THREADS;
      const long token = min(first + entry / PAIRS % TOKENS_AT_ONCE, end - 1);
      if (!owns(entry)) continue;
#if HAS_CACHE
      fetched[i] = float2(inputs.cos[token * params.cos_stride + entry % PAIRS],
                          inputs.sin[token * params.sin_stride + entry % PAIRS]);
#else
      positions[i] = position_of(params, inputs, token);
#endif
    }
  }

  /// Writes what was fetched last.
  void write(threadgroup float* table, float sign) const {
#pragma unroll
    for (uint i = 0; i < ANGLES_PER_THREAD; ++i) {
      const uint entry = index + i * THREADS;
      if (!owns(entry)) continue;
#if HAS_CACHE
      const float2 values = fetched[i];
#else
      const float2 values = cos_sin_of(frequencies[i % FREQUENCIES_PER_THREAD], positions[i]);
#endif
      table[entry] = values.x;
      table[TABLE_SIZE + entry] = values.y * sign;
    }
  }
};

/// The angles of a lane's pairs.
struct LaneAngles {
  PackFloats cosines[SLOTS], sines[SLOTS];

  void take(threadgroup const float* table, uint team, LanePlaces places) {
#pragma unroll
    for (uint i = 0; i < SLOTS; ++i) {
      const PairPlace place = places.slots[i];
      if (!place.exists || !place.rotates) continue;
      const uint entry = team / TEAMS_PER_TOKEN * PAIRS + place.pair;
      cosines[i] = load_shared(table + entry);
      sines[i] = load_shared(table + TABLE_SIZE + entry);
    }
  }
};
