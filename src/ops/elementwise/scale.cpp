// SPDX-License-Identifier: MIT
#include "norite/ops/scale.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

Result<void> scale(Encoder& encoder, const Scale& op) {
  if (!std::isfinite(op.factor)) {
    return Check("scale").refuse("factor", fmt::format("is {}", op.factor), "a finite value");
  }
  return encode_elementwise(encoder, "scale",
                            {.function = kElementwiseScale,
                             .inputs = {{{"x", op.x}}},
                             .outputs = {{{"y", op.y}}},
                             .scalar = op.factor});
}

}  // namespace norite::ops
