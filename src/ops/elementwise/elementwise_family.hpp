// SPDX-License-Identifier: MIT
// The elementwise operations are one kernel; this is what they share.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "elementwise/params.h"
#include "norite/encoder.hpp"
#include "ops/check.hpp"

namespace norite::ops {

struct ElementwiseFamily {
  ElementwiseFunction function = kElementwiseCopy;
  std::array<Named, 3> inputs;   // as many as the function has; the first sets dtype and shape
  std::array<Named, 2> outputs;  // as well; the second may be without a view
  float scalar = 0;
  bool converts = false;                        // the output may have another dtype
  std::span<const ElementwiseStep> chain = {};  // instead of function and scalar
};

/// Checks everything that does not depend on which of the operations it is, then records the
/// kernel. Each output may be any of the inputs.
Result<void> encode_elementwise(Encoder& encoder, std::string_view operation,
                                const ElementwiseFamily& op);

/// Gradients of y = f(a) * b.
struct ProductBackward {
  ElementwiseFunction both;     // (dy, a, b) -> da, db
  ElementwiseFunction forward;  // (a, b) -> f(a) * b, which is db where b is dy
  View dy, a, b, da, db;
};

Result<void> encode_product_backward(Encoder& encoder, std::string_view operation,
                                     const ProductBackward& op);

}  // namespace norite::ops
