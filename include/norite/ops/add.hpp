// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// y = a + b, element by element.
///
/// a, b and y have the same shape, in any strides, and the same dtype: f32, f16 or bf16. Arithmetic
/// is f32, rounded once. Nothing is broadcast; an axis of stride 0 repeats an input. The gradient
/// of both a and b is dy itself.
struct Add {
  View a;
  View b;
  View y;  ///< may be a or b itself
};

[[nodiscard]] NORITE_API Result<void> add(Encoder& encoder, const Add& op);

}  // namespace norite::ops
