// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

enum class GeluForm : uint8_t {
  erf,   ///< x · Φ(x) = x · (1 + erf(x / √2)) / 2
  tanh,  ///< x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2: Gemma's, "gelu_pytorch_tanh"
};

/// y = gelu(x). Shapes, dtypes and strides as in add.
struct Gelu {
  View x;
  View y;  ///< may be x itself
  GeluForm form = GeluForm::erf;
};

[[nodiscard]] NORITE_API Result<void> gelu(Encoder& encoder, const Gelu& op);

/// dx = dy · gelu'(x)
struct GeluBackward {
  View dy;
  View x;
  View dx;  ///< may be dy or x itself
  GeluForm form = GeluForm::erf;
};

[[nodiscard]] NORITE_API Result<void> gelu_backward(Encoder& encoder, const GeluBackward& op);

/// y = gelu(a) · b: GeGLU, with a of the gate and b of the up projection.
struct GeluMul {
  View a;
  View b;
  View y;  ///< may be a or b itself
  GeluForm form = GeluForm::erf;
};

[[nodiscard]] NORITE_API Result<void> gelu_mul(Encoder& encoder, const GeluMul& op);

/// Gradients of gelu_mul: da = dy · b · gelu'(a), db = dy · gelu(a). Without da or without db that
/// half is not computed.
struct GeluMulBackward {
  View dy;
  View a;
  View b;
  View da = {};  ///< may be dy, a or b itself
  View db = {};  ///< may be dy, a or b itself
  GeluForm form = GeluForm::erf;
};

[[nodiscard]] NORITE_API Result<void> gelu_mul_backward(Encoder& encoder,
                                                        const GeluMulBackward& op);

}  // namespace norite::ops
