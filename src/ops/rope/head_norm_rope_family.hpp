// SPDX-License-Identifier: MIT
// fused_head_norm_rope, rope and rope_backward are one kernel; this is what they share.
#pragma once

#include <string_view>

#include "norite/encoder.hpp"
#include "norite/ops/norm_options.hpp"
#include "norite/ops/rope_options.hpp"
#include "ops/check.hpp"

namespace norite::ops {

/// It refers to the operation's own descriptor.
struct HeadNormRopeFamily {
  std::string_view x_name = "x", y_name = "y";
  const View &x, &weight = kNotGiven, &y, &copy = kNotGiven;
  const RopeAngles& angles;
  Pairing pairing = Pairing::half_dim;
  int64_t half_rope_dim = -1;
  float eps = 0;
  WeightMode weight_mode = WeightMode::plain;
  bool normalise = false;
  bool negate = false;  // rotate backward
};

Result<void> encode_head_norm_rope_family(Encoder& encoder, std::string_view operation,
                                          const HeadNormRopeFamily& op);

}  // namespace norite::ops
