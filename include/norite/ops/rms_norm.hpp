// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/norm_options.hpp>

namespace norite::ops {

/// y = x · r · w, r = 1 / sqrt(mean(x²) + eps), over the last axis.
///
/// x and y are [..., dim] with up to three leading axes, f32, f16 or bf16; rows may be strided, the
/// last axis is contiguous. Arithmetic is f32. A row's result depends on that row alone; on GPUs
/// its last bits also on where rows begin in packs of 16 bytes (docs/ops/rms_norm.md).
struct RmsNorm {
  View x;
  View weight = {};  ///< [dim], the dtype of x or f32; absent: none (rms_norm_no_scale)
  View y = {};       ///< like x; may be x itself
  View rms_inv = {};  ///< optional output: r of each row, f32, shape of x without the last axis
  float eps = 1e-6f;
  WeightMode weight_mode = WeightMode::plain;
  Rounding rounding = Rounding::once;
};

[[nodiscard]] NORITE_API Result<void> rms_norm(Encoder& encoder, const RmsNorm& op);

}  // namespace norite::ops
