// SPDX-License-Identifier: MIT
#include "norite/ops/residual_rms_norm.hpp"

#include "ops/check.hpp"
#include "ops/norm/rms_norm_family.hpp"

namespace norite::ops {

Result<void> residual_rms_norm(Encoder& encoder, const ResidualRmsNorm& op) {
  const Check check("residual_rms_norm");
  NORITE_TRY(check.given({"residual", op.residual}));
  NORITE_TRY(check.given({"sum", op.sum}));
  NORITE_TRY(check.given({"y", op.y}));
  return encode_rms_norm_family(encoder, "residual_rms_norm",
                                {.x = op.x,
                                 .weight = op.weight,
                                 .residual = op.residual,
                                 .sum = op.sum,
                                 .y = op.y,
                                 .rms_inv = op.rms_inv,
                                 .eps = op.eps,
                                 .weight_mode = op.weight_mode,
                                 .rounding = op.rounding});
}

}  // namespace norite::ops
