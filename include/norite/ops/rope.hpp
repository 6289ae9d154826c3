// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/rope_options.hpp>

namespace norite::ops {

/// The rotary embedding alone; shapes and options as fused_head_norm_rope.
struct Rope {
  View x;
  View y;          ///< like x; may be x itself
  View copy = {};  ///< optional second output in any float dtype
  RopeAngles angles = {};
  Pairing pairing = Pairing::half_dim;
  int64_t half_rope_dim = -1;
};

[[nodiscard]] NORITE_API Result<void> rope(Encoder& encoder, const Rope& op);

/// Gradient of rope: the rotation by the negative angle.
struct RopeBackward {
  View dy;
  View dx;  ///< like dy; may be dy itself
  RopeAngles angles = {};  ///< the rest as in the forward pass
  Pairing pairing = Pairing::half_dim;
  int64_t half_rope_dim = -1;
};

[[nodiscard]] NORITE_API Result<void> rope_backward(Encoder& encoder, const RopeBackward& op);

}  // namespace norite::ops
