// SPDX-License-Identifier: MIT
#pragma once

#include "rope/angles.h"
#include "rope/pairs.h"

/// Where angles come from; null what is absent.
struct AngleInputs {
  device const uint* positions;
  device const float *freq_factors, *cos, *sin;
};

/// The angles of one lane's pairs. Frequencies are found once a kernel, rotations once a token.
struct LaneAngles {
  Frequencies<VECTOR_WIDTH> frequencies[SLOTS];
  Rotation<VECTOR_WIDTH> rotations[SLOTS];
  long token;

  void prepare(constant RopeAngleParams& params, AngleInputs inputs,
               thread const PairPlace* places) {
    token = -1;
    for (uint slot = 0; slot < SLOTS; ++slot) {
      if (HAS_CACHE || !places[slot].rotates) continue;
      frequencies[slot].compute(params, places[slot].pair);
      if (HAS_FREQ_FACTORS) frequencies[slot].divide_by(inputs.freq_factors + places[slot].pair);
    }
  }

  void select(constant RopeAngleParams& params, AngleInputs inputs, thread const PairPlace* places,
              long wanted, bool backward) {
    if (token == wanted) return;
    token = wanted;
    const long position = HAS_CACHE ? 0 : position_of(params, inputs.positions);
    for (uint slot = 0; slot < SLOTS; ++slot) {
      const PairPlace place = places[slot];
      if (!place.rotates) continue;
      if (HAS_CACHE) {
        rotations[slot].load(inputs.cos + token * params.cos_stride + place.pair,
                             inputs.sin + token * params.sin_stride + place.pair);
      } else {
        rotations[slot].compute(frequencies[slot], position);
      }
      if (backward) rotations[slot].negate();
    }
  }

  long position_of(constant RopeAngleParams& params, device const uint* positions) const {
    if (!HAS_POSITIONS) return params.first_position + token;
    const uint position = positions[token * params.position_stride];
    return params.signed_positions ? long(as_type<int>(position)) : long(position);
  }
};
