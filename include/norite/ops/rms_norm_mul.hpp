// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/norm_options.hpp>

namespace norite::ops {

/// y = x · r · w · scale: an RMS norm and the elementwise product that follows it, in one pass.
struct RmsNormMul {
  View x;
  View weight = {};  ///< [dim], the dtype of x or f32; absent: none
  View scale;        ///< like x; a row stride of 0 repeats one row
  View y;            ///< like x; may be x or scale itself
  View rms_inv = {};  ///< optional output: r of each row, f32
  float eps = 1e-6f;
  WeightMode weight_mode = WeightMode::plain;
  Rounding rounding = Rounding::once;
};

[[nodiscard]] NORITE_API Result<void> rms_norm_mul(Encoder& encoder, const RmsNormMul& op);

}  // namespace norite::ops
