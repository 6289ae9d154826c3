// SPDX-License-Identifier: MIT
// The three forward norms are one kernel with optional operands; this is what they share.
#pragma once

#include <string_view>

#include "norite/encoder.hpp"
#include "norite/ops/norm_options.hpp"
#include "norm/params.h"
#include "ops/check.hpp"

namespace norite::ops {

/// It refers to the operation's own descriptor.
struct RmsNormFamily {
  const View& x;
  const View &weight = kNotGiven, &residual = kNotGiven, &scale = kNotGiven, &sum = kNotGiven,
             &y = kNotGiven, &rms_inv = kNotGiven;
  float eps = 0;
  WeightMode weight_mode = WeightMode::plain;
  Rounding rounding = Rounding::once;
};

/// Checks everything that does not depend on which of the norms it is, then records the kernel.
Result<void> encode_rms_norm_family(Encoder& encoder, std::string_view operation,
                                    const RmsNormFamily& op);

/// Whether it is one of the kernels that this records, which take the same arguments.
bool is_rms_norm_kernel(std::string_view name) noexcept;
/// Whether it is the one of them whose groups share rows, and sum them in an order of their own.
bool shares_rows(std::string_view name) noexcept;

/// The kernels' weight mode: none without a weight.
Result<NormWeightMode> check_weight_mode(const Check& check, const View& weight, WeightMode mode);

}  // namespace norite::ops
