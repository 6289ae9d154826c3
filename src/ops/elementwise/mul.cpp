// SPDX-License-Identifier: MIT
#include "norite/ops/mul.hpp"

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

Result<void> mul(Encoder& encoder, const Mul& op) {
  return encode_elementwise(encoder, "mul",
                            {.function = kElementwiseMul,
                             .inputs = {{{"a", op.a}, {"b", op.b}}},
                             .outputs = {{{"y", op.y}}}});
}

Result<void> mul_backward(Encoder& encoder, const MulBackward& op) {
  return encode_product_backward(encoder, "mul_backward",
                                 {.both = kElementwiseMulBackward,
                                  .forward = kElementwiseMul,
                                  .dy = op.dy,
                                  .a = op.a,
                                  .b = op.b,
                                  .da = op.da,
                                  .db = op.db});
}

}  // namespace norite::ops
