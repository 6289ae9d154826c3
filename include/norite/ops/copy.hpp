// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>

namespace norite::ops {

/// y = x: to other strides, and to another dtype (a cast) where y has one.
///
/// x and y have the same shape, in any strides; each is f32, f16 or bf16. Rounds to nearest even; a
/// value beyond the range of y becomes infinite, NaN stays NaN. The gradient is dy copied to the
/// dtype of x.
struct Copy {
  View x;
  View y;  ///< may be x itself
};

[[nodiscard]] NORITE_API Result<void> copy(Encoder& encoder, const Copy& op);

}  // namespace norite::ops
