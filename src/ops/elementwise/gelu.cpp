// SPDX-License-Identifier: MIT
#include "norite/ops/gelu.hpp"

#include <fmt/format.h>

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

namespace {

Result<ElementwiseFunction> choose(std::string_view operation, GeluForm form,
                                   ElementwiseFunction erf, ElementwiseFunction tanh) {
  switch (form) {
    case GeluForm::erf:
      return erf;
    case GeluForm::tanh:
      return tanh;
  }
  return Check(operation).refuse("form", fmt::format("is {}", static_cast<int>(form)),
                                 "erf (0) or tanh (1)");
}

}  // namespace

Result<void> gelu(Encoder& encoder, const Gelu& op) {
  constexpr std::string_view kName = "gelu";
  NORITE_TRY_ASSIGN(const auto function,
                    choose(kName, op.form, kElementwiseGelu, kElementwiseGeluTanh));
  return encode_elementwise(
      encoder, kName,
      {.function = function, .inputs = {{{"x", op.x}}}, .outputs = {{{"y", op.y}}}});
}

Result<void> gelu_backward(Encoder& encoder, const GeluBackward& op) {
  constexpr std::string_view kName = "gelu_backward";
  NORITE_TRY_ASSIGN(const auto function,
                    choose(kName, op.form, kElementwiseGeluBackward, kElementwiseGeluTanhBackward));
  return encode_elementwise(encoder, kName,
                            {.function = function,
                             .inputs = {{{"dy", op.dy}, {"x", op.x}}},
                             .outputs = {{{"dx", op.dx}}}});
}

Result<void> gelu_mul(Encoder& encoder, const GeluMul& op) {
  constexpr std::string_view kName = "gelu_mul";
  NORITE_TRY_ASSIGN(const auto function,
                    choose(kName, op.form, kElementwiseGeluMul, kElementwiseGeluTanhMul));
  return encode_elementwise(
      encoder, kName,
      {.function = function, .inputs = {{{"a", op.a}, {"b", op.b}}}, .outputs = {{{"y", op.y}}}});
}

Result<void> gelu_mul_backward(Encoder& encoder, const GeluMulBackward& op) {
  constexpr std::string_view kName = "gelu_mul_backward";
  NORITE_TRY_ASSIGN(const auto both, choose(kName, op.form, kElementwiseGeluMulBackward,
                                            kElementwiseGeluTanhMulBackward));
  NORITE_TRY_ASSIGN(const auto forward,
                    choose(kName, op.form, kElementwiseGeluMul, kElementwiseGeluTanhMul));
  return encode_product_backward(encoder, kName,
                                 {.both = both,
                                  .forward = forward,
                                  .dy = op.dy,
                                  .a = op.a,
                                  .b = op.b,
                                  .da = op.da,
                                  .db = op.db});
}

}  // namespace norite::ops
