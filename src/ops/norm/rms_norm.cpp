// SPDX-License-Identifier: MIT
#include "norite/ops/rms_norm.hpp"

#include "ops/check.hpp"
#include "ops/norm/rms_norm_family.hpp"

namespace norite::ops {

Result<void> rms_norm(Encoder& encoder, const RmsNorm& op) {
  NORITE_TRY(Check("rms_norm").given({"y", op.y}));
  return encode_rms_norm_family(encoder, "rms_norm",
                                {.x = op.x,
                                 .weight = op.weight,
                                 .y = op.y,
                                 .rms_inv = op.rms_inv,
                                 .eps = op.eps,
                                 .weight_mode = op.weight_mode,
                                 .rounding = op.rounding});
}

}  // namespace norite::ops
