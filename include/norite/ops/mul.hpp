// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// y = a · b, element by element. Shapes, dtypes and strides as in add.
struct Mul {
  View a;
  View b;
  View y;  ///< may be a or b itself
};

[[nodiscard]] NORITE_API Result<void> mul(Encoder& encoder, const Mul& op);

/// Gradients of mul: da = dy · b, db = dy · a. Without da or without db that half is not computed.
struct MulBackward {
  View dy;
  View a;
  View b;
  View da = {};  ///< may be dy, a or b itself
  View db = {};  ///< may be dy, a or b itself
};

[[nodiscard]] NORITE_API Result<void> mul_backward(Encoder& encoder, const MulBackward& op);

}  // namespace norite::ops
