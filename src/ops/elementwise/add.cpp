// SPDX-License-Identifier: MIT
#include "norite/ops/add.hpp"

#include "ops/elementwise/elementwise_family.hpp"

namespace norite::ops {

Result<void> add(Encoder& encoder, const Add& op) {
  return encode_elementwise(encoder, "add",
                            {.function = kElementwiseAdd,
                             .inputs = {{{"a", op.a}, {"b", op.b}}},
                             .outputs = {{{"y", op.y}}}});
}

}  // namespace norite::ops
