// SPDX-License-Identifier: MIT
#include "norite/ops/copy.hpp"

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

Result<void> copy(Encoder& encoder, const Copy& op) {
  return encode_elementwise(encoder, "copy",
                            {.function = kElementwiseCopy,
                             .inputs = {{{"x", op.x}}},
                             .outputs = {{{"y", op.y}}},
                             .converts = true});
}

}  // namespace norite::ops
