// SPDX-License-Identifier: MIT
// The three forward norms are one kernel with optional operands; this is what they share.
#pragma once

#include <string_view>

#include "norite/encoder.hpp"
#include "norite/ops/norm_options.hpp"
#include "norm/params.h"

namespace norite::ops {

struct RmsNormFamily {
  View x, weight = {}, residual = {}, scale = {}, sum = {}, y = {}, rms_inv = {};
  float eps = 0;
  WeightMode weight_mode = WeightMode::plain;
  Rounding rounding = Rounding::once;
};

/// Checks everything that does not depend on which of the norms it is, then records the kernel.
Result<void> encode_rms_norm_family(Encoder& encoder, std::string_view operation,
                                    const RmsNormFamily& op);

/// The kernels' weight mode: none without a weight.
NormWeightMode kernel_weight_mode(const View& weight, WeightMode mode) noexcept;

}  // namespace norite::ops
