// SPDX-License-Identifier: MIT
#include "norite/ops/softcap.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

namespace {

Result<void> check_cap(std::string_view operation, float cap) {
  if (std::isfinite(cap) && cap > 0.0f) return {};
  return Check(operation).refuse("cap", fmt::format("is {}", cap), "a finite value > 0");
}

}  // namespace

Result<void> softcap(Encoder& encoder, const Softcap& op) {
  NORITE_TRY(check_cap("softcap", op.cap));
  return encode_elementwise(encoder, "softcap",
                            {.function = kElementwiseSoftcap,
                             .inputs = {{{"x", op.x}}},
                             .outputs = {{{"y", op.y}}},
                             .scalar = op.cap});
}

Result<void> softcap_backward(Encoder& encoder, const SoftcapBackward& op) {
  NORITE_TRY(check_cap("softcap_backward", op.cap));
  return encode_elementwise(encoder, "softcap_backward",
                            {.function = kElementwiseSoftcapBackward,
                             .inputs = {{{"dy", op.dy}, {"x", op.x}}},
                             .outputs = {{{"dx", op.dx}}},
                             .scalar = op.cap});
}

}  // namespace norite::ops
