// SPDX-License-Identifier: MIT
// What the operations over [tokens, heads, head_dim] share: shapes, pairs and angles.
#pragma once

#include "norite/ops/rope_options.hpp"
#include "ops/check.hpp"
#include "rope/params.h"

namespace norite::ops {

struct HeadShape {
  int64_t tokens, heads, head_dim, half_rope_dim;
};

/// Checks x and how much of a head rotates; -1 pairs become all of them.
Result<HeadShape> check_heads(const Check& check, const Named& x, int64_t half_rope_dim);

/// Checks where the angles come from and fills the kernel's constants.
Result<RopeAngleParams> check_angles(const Check& check, const RopeAngles& angles,
                                     const HeadShape& shape);

Result<RopePairing> check_pairing(const Check& check, Pairing pairing);

HeadStrides head_strides(const View& view) noexcept;

}  // namespace norite::ops
