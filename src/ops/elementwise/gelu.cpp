// SPDX-License-Identifier: MIT
#include "norite/ops/gelu.hpp"

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

namespace {

ElementwiseFunction choose(GeluForm form, ElementwiseFunction erf, ElementwiseFunction tanh) {
  return form == GeluForm::tanh ? tanh : erf;
}

}  // namespace

Result<void> gelu(Encoder& encoder, const Gelu& op) {
  return encode_elementwise(encoder, "gelu",
                            {.function = choose(op.form, kElementwiseGelu, kElementwiseGeluTanh),
                             .inputs = {{{"x", op.x}}},
                             .outputs = {{{"y", op.y}}}});
}

Result<void> gelu_backward(Encoder& encoder, const GeluBackward& op) {
  return encode_elementwise(
      encoder, "gelu_backward",
      {.function = choose(op.form, kElementwiseGeluBackward, kElementwiseGeluTanhBackward),
       .inputs = {{{"dy", op.dy}, {"x", op.x}}},
       .outputs = {{{"dx", op.dx}}}});
}

Result<void> gelu_mul(Encoder& encoder, const GeluMul& op) {
  return encode_elementwise(
      encoder, "gelu_mul",
      {.function = choose(op.form, kElementwiseGeluMul, kElementwiseGeluTanhMul),
       .inputs = {{{"a", op.a}, {"b", op.b}}},
       .outputs = {{{"y", op.y}}}});
}

Result<void> gelu_mul_backward(Encoder& encoder, const GeluMulBackward& op) {
  return encode_product_backward(
      encoder, "gelu_mul_backward",
      {.both = choose(op.form, kElementwiseGeluMulBackward, kElementwiseGeluTanhMulBackward),
       .forward = choose(op.form, kElementwiseGeluMul, kElementwiseGeluTanhMul),
       .dy = op.dy,
       .a = op.a,
       .b = op.b,
       .da = op.da,
       .db = op.db});
}

}  // namespace norite::ops
