// SPDX-License-Identifier: MIT
#include "norite/ops/silu.hpp"

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

Result<void> silu(Encoder& encoder, const Silu& op) {
  return encode_elementwise(
      encoder, "silu",
      {.function = kElementwiseSilu, .inputs = {{{"x", op.x}}}, .outputs = {{{"y", op.y}}}});
}

Result<void> silu_backward(Encoder& encoder, const SiluBackward& op) {
  return encode_elementwise(encoder, "silu_backward",
                            {.function = kElementwiseSiluBackward,
                             .inputs = {{{"dy", op.dy}, {"x", op.x}}},
                             .outputs = {{{"dx", op.dx}}}});
}

Result<void> silu_mul(Encoder& encoder, const SiluMul& op) {
  return encode_elementwise(encoder, "silu_mul",
                            {.function = kElementwiseSiluMul,
                             .inputs = {{{"a", op.a}, {"b", op.b}}},
                             .outputs = {{{"y", op.y}}}});
}

Result<void> silu_mul_backward(Encoder& encoder, const SiluMulBackward& op) {
  return encode_product_backward(encoder, "silu_mul_backward",
                                 {.both = kElementwiseSiluMulBackward,
                                  .forward = kElementwiseSiluMul,
                                  .dy = op.dy,
                                  .a = op.a,
                                  .b = op.b,
                                  .da = op.da,
                                  .db = op.db});
}

}  // namespace norite::ops
