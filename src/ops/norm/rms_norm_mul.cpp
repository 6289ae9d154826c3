// SPDX-License-Identifier: MIT
#include "norite/ops/rms_norm_mul.hpp"

#include "ops/check.hpp"
#include "ops/norm/rms_norm_family.hpp"

namespace norite::ops {

Result<void> rms_norm_mul(Encoder& encoder, const RmsNormMul& op) {
  const Check check("rms_norm_mul");
  NORITE_TRY(check.given({"scale", op.scale}));
  NORITE_TRY(check.given({"y", op.y}));
  return encode_rms_norm_family(encoder, "rms_norm_mul",
                                {.x = op.x,
                                 .weight = op.weight,
                                 .scale = op.scale,
                                 .y = op.y,
                                 .rms_inv = op.rms_inv,
                                 .eps = op.eps,
                                 .weight_mode = op.weight_mode,
                                 .rounding = op.rounding});
}

}  // namespace norite::ops
