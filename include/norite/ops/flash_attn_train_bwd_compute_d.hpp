// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// D[b, h, i] = Σ_d O[b, h, i, d] · dO[b, h, i, d]: the pre-pass of FlashAttention-2's backward.
///
/// o and d_o have the same shape [..., head_dim] with up to three leading axes ([B, H, q, head_dim]
/// usually) and any strides before the last axis, whose elements lie side by side; d has that shape
/// without the last axis, is f32 and may have any strides.
struct FlashAttnTrainBwdComputeD {
  View o;
  View d_o;
  View d;
};

[[nodiscard]] NORITE_API Result<void> flash_attn_train_bwd_compute_d(
    Encoder& encoder, const FlashAttnTrainBwdComputeD& op);

}  // namespace norite::ops
