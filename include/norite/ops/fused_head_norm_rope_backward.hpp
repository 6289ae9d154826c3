// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/norm_options.hpp>
#include <norite/ops/rope_options.hpp>

namespace norite::ops {

/// Gradients of fused_head_norm_rope: dy is rotated back to g, then each head is a row of
/// rms_norm_backward with g in place of dy. dw sums over tokens and heads, in an order that depends
/// on the number of tokens and heads and on the device alone.
struct FusedHeadNormRopeBackward {
  View x;            ///< the forward pass's input
  View weight = {};  ///< [head_dim]; absent: none (then there is no dw)
  View dy;           ///< like x
  View dx = {};      ///< output like x; may be dy itself, with dw perhaps another last bit
  View dw = {};      ///< output [head_dim], f32 or the weight's dtype
  RopeAngles angles = {};  ///< the rest as in the forward pass
  Pairing pairing = Pairing::half_dim;
  int64_t half_rope_dim = -1;
  float eps = 1e-6f;
  WeightMode weight_mode = WeightMode::plain;
};

[[nodiscard]] NORITE_API Result<void> fused_head_norm_rope_backward(
    Encoder& encoder, const FusedHeadNormRopeBackward& op);

}  // namespace norite::ops
