// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// y = silu(x) = x / (1 + exp(−x)). Shapes, dtypes and strides as in add.
struct Silu {
  View x;
  View y;  ///< may be x itself
};

[[nodiscard]] NORITE_API Result<void> silu(Encoder& encoder, const Silu& op);

/// dx = dy · silu'(x)
struct SiluBackward {
  View dy;
  View x;
  View dx;  ///< may be dy or x itself
};

[[nodiscard]] NORITE_API Result<void> silu_backward(Encoder& encoder, const SiluBackward& op);

/// y = silu(a) · b: SwiGLU, with a of the gate and b of the up projection.
struct SiluMul {
  View a;
  View b;
  View y;  ///< may be a or b itself
};

[[nodiscard]] NORITE_API Result<void> silu_mul(Encoder& encoder, const SiluMul& op);

/// Gradients of silu_mul: da = dy · b · silu'(a), db = dy · silu(a). Without da or without db that
/// half is not computed.
struct SiluMulBackward {
  View dy;
  View a;
  View b;
  View da = {};  ///< may be dy, a or b itself
  View db = {};  ///< may be dy, a or b itself
};

[[nodiscard]] NORITE_API Result<void> silu_mul_backward(Encoder& encoder,
                                                        const SiluMulBackward& op);

}  // namespace norite::ops
