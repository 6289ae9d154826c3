// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// y = cap · tanh(x / cap): logits that stay within ±cap. Shapes, dtypes and strides as in add.
struct Softcap {
  View x;
  View y;     ///< may be x itself
  float cap;  ///< finite, > 0
};

[[nodiscard]] NORITE_API Result<void> softcap(Encoder& encoder, const Softcap& op);

/// dx = dy · (1 − tanh²(x / cap)), of the x that softcap was given.
struct SoftcapBackward {
  View dy;
  View x;
  View dx;    ///< may be dy or x itself
  float cap;  ///< finite, > 0
};

[[nodiscard]] NORITE_API Result<void> softcap_backward(Encoder& encoder, const SoftcapBackward& op);

}  // namespace norite::ops
