// SPDX-License-Identifier: MIT
#include "norite/ops/rope.hpp"

#include "ops/rope/head_norm_rope_family.hpp"

namespace norite::ops {

Result<void> rope(Encoder& encoder, const Rope& op) {
  return encode_head_norm_rope_family(encoder, "rope",
                                      {.x = op.x,
                                       .y = op.y,
                                       .copy = op.copy,
                                       .angles = op.angles,
                                       .pairing = op.pairing,
                                       .half_rope_dim = op.half_rope_dim});
}

Result<void> rope_backward(Encoder& encoder, const RopeBackward& op) {
  return encode_head_norm_rope_family(encoder, "rope_backward",
                                      {.x_name = "dy",
                                       .y_name = "dx",
                                       .x = op.dy,
                                       .y = op.dx,
                                       .angles = op.angles,
                                       .pairing = op.pairing,
                                       .half_rope_dim = op.half_rope_dim,
                                       .negate = true});
}

}  // namespace norite::ops
