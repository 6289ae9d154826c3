// SPDX-License-Identifier: MIT
// fused_head_norm_rope, rope and rope_backward are one kernel; this is what they share.
#pragma once

#include <string_view>

#include "norite/encoder.hpp"
#include "norite/ops/norm_options.hpp"
#include "norite/ops/rope_options.hpp"

namespace norite::ops {

struct HeadNormRopeFamily {
  std::string_view x_name = "x", y_name = "y";
  View x, weight = {}, y, copy = {};
  RopeAngles angles = {};
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
