// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/norm_options.hpp>
#include <norite/ops/rope_options.hpp>

namespace norite::ops {

/// RMS norm of each head, then its rotary embedding, in one pass over x.
///
/// x and y are [tokens, heads, head_dim], f32, f16 or bf16, head_dim even and at most 1024; tokens
/// and heads may be strided (a slice of a packed QKV), the last axis is contiguous.
struct FusedHeadNormRope {
  View x;
  View weight = {};  ///< [head_dim], the dtype of x or f32; absent: none
  View y;            ///< like x; may be x itself
  /// Optional second output of the same shape in any float dtype, strided as x may be: the KV
  /// cache. One laid out [heads, tokens, head_dim] is passed as cache.permute({1, 0, 2}).
  View copy = {};
  RopeAngles angles = {};
  Pairing pairing = Pairing::half_dim;
  int64_t half_rope_dim = -1;  ///< pairs to rotate; -1: head_dim / 2
  float eps = 1e-6f;
  WeightMode weight_mode = WeightMode::plain;
};

[[nodiscard]] NORITE_API Result<void> fused_head_norm_rope(Encoder& encoder,
                                                           const FusedHeadNormRope& op);

}  // namespace norite::ops
