// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/norm_options.hpp>

namespace norite::ops {

/// sum = x + residual; y = sum · r · w. The norm reads the sum as it was stored, rounded, so the
/// result equals an addition followed by rms_norm bit for bit (on GPUs where the rows of all operands
/// begin alike: docs/ops/residual_rms_norm.md).
struct ResidualRmsNorm {
  View x;
  View residual;     ///< like x
  View weight = {};  ///< [dim], the dtype of x or f32; absent: none
  View sum;          ///< output like x; may be residual or x itself
  View y;            ///< output like x; may be x itself
  View rms_inv = {};  ///< optional output: r of each row, f32
  float eps = 1e-6f;
  WeightMode weight_mode = WeightMode::plain;
  Rounding rounding = Rounding::once;
};

[[nodiscard]] NORITE_API Result<void> residual_rms_norm(Encoder& encoder,
                                                        const ResidualRmsNorm& op);

}  // namespace norite::ops
