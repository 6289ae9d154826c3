// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// y = factor · x. Shapes, dtypes and strides as in add. Its gradient is dx = factor · dy: scale
/// again.
struct Scale {
  View x;
  View y;  ///< may be x itself
  float factor = 1.0f;
};

[[nodiscard]] NORITE_API Result<void> scale(Encoder& encoder, const Scale& op);

}  // namespace norite::ops
