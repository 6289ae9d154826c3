// SPDX-License-Identifier: MIT
#include "norite/ops/fused_head_norm_rope.hpp"

#include "ops/rope/head_norm_rope_family.hpp"

namespace norite::ops {

Result<void> fused_head_norm_rope(Encoder& encoder, const FusedHeadNormRope& op) {
  return encode_head_norm_rope_family(encoder, "fused_head_norm_rope",
                                      {.x = op.x,
                                       .weight = op.weight,
                                       .y = op.y,
                                       .copy = op.copy,
                                       .angles = op.angles,
                                       .pairing = op.pairing,
                                       .half_rope_dim = op.half_rope_dim,
                                       .eps = op.eps,
                                       .weight_mode = op.weight_mode,
                                       .normalise = true});
}

}  // namespace norite::ops
