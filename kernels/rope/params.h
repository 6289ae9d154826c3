// SPDX-License-Identifier: MIT
// Constants of the per-head norm and rotary-embedding kernels.
#pragma once

#include "common/types.h"
#include "norm/params.h"

/// Which two elements of a head pair i < half_rope_dim rotates.
enum RopePairing {
  kPairHalfDim = 0,      // (i, i + head_dim / 2)
  kPairHalfRope = 1,     // (i, i + half_rope_dim)
  kPairInterleaved = 2,  // (2i, 2i + 1)
};
enum RopeAngles {
  kAnglesSequential = 0,  // position of token t is first_position + t
  kAnglesPositions = 1,   // position of token t is positions[t]
  kAnglesCached = 2,      // cos and sin are given for each token
};

/// Distance in elements between neighbouring tokens and neighbouring heads of [tokens, heads, D].
struct HeadStrides {
  int64_t token, head;
};

/// Elements of a head, at most. Norms of rows that may be heads are summed as heads are.
enum { kMaxHeadDim = 1024 };

/// A pair's number as digits of three bits.
enum { kPairDigits = 3, kDigitBits = 3, kDigitValues = 1 << kDigitBits };

/// high + low, |low| <= ulp(high) / 2.
struct TwoFloats {
  float high, low;
};

/// Angle of pair i at position p: p * theta^(-2i / frequency_dim) / freq_factors[i].
struct RopeAngleParams {
  int64_t first_position;
  int64_t position_stride;  // elements
  int64_t cos_stride, sin_stride;  // elements between tokens; a token's values are contiguous
  int64_t frequency_dim;
  float theta;
  uint32_t source;            // RopeAngles
  uint32_t signed_positions;  // i32 rather than u32
  uint32_t negate;            // rotate backward
  /// For kernels without double: the frequency of a pair, in turns, is the product of what its
  /// digits stand for, theta^(-2 value 8^digit / frequency_dim); the first has 1 / (2 pi) as well.
  TwoFloats powers[kPairDigits][kDigitValues];
};

/// fused_head_norm_rope; rope and rope_backward with normalise = 0.
enum HeadNormRopeArgument {
  kHeadNormRopeX,
  kHeadNormRopeWeight,       // optional
  kHeadNormRopePositions,    // optional, i32 or u32
  kHeadNormRopeFreqFactors,  // optional, f32, contiguous
  kHeadNormRopeCos,          // optional, f32
  kHeadNormRopeSin,          // optional, f32
  kHeadNormRopeY,            // out
  kHeadNormRopeCopy,         // out, optional, any float dtype
  kHeadNormRopeParams,
};

struct HeadNormRopeParams {
  int64_t tokens, heads, head_dim, half_rope_dim;
  HeadStrides x, y, copy;
  RopeAngleParams angles;
  float eps;
  uint32_t normalise;
  uint32_t weight_mode;  // NormWeightMode
  uint32_t pairing;      // RopePairing
};

/// g = dy rotated backward; then the RMS-norm backward of every head with g in place of dy.
/// dw_partial[p] covers tokens [p * tokens_per_partial, ...), all their heads in a fixed order;
/// kernel text shares all heads out over its groups instead, one partial each.
enum HeadNormRopeBackwardArgument {
  kHeadNormRopeBackwardX,
  kHeadNormRopeBackwardWeight,       // optional
  kHeadNormRopeBackwardPositions,    // optional
  kHeadNormRopeBackwardFreqFactors,  // optional
  kHeadNormRopeBackwardCos,          // optional
  kHeadNormRopeBackwardSin,          // optional
  kHeadNormRopeBackwardDy,
  kHeadNormRopeBackwardDx,           // out, optional
  kHeadNormRopeBackwardDwPartial,    // out, optional, f32 [partials, head_dim]
  kHeadNormRopeBackwardParams,
};

struct HeadNormRopeBackwardParams {
  int64_t tokens, heads, head_dim, half_rope_dim;
  int64_t tokens_per_partial;
  HeadStrides x, dy, dx;
  RopeAngleParams angles;  // of the forward pass: negate is 0
  float eps;
  uint32_t weight_mode;  // NormWeightMode
  uint32_t pairing;      // RopePairing
  uint32_t pad;
};
