// SPDX-License-Identifier: MIT
#include "ops/plan.hpp"

namespace norite::ops {

const char* kernel_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "half";
    case DType::bf16:
      return "bfloat";
    default:
      return "float";
  }
}

const char* kernel_type(const Argument& operand, const Argument& otherwise) {
  return kernel_type((operand.bound() ? operand : otherwise).view().dtype());
}

Grid groups_of(int64_t items, int64_t each, int64_t threads) {
  return {.groups = {(items - 1) / each + 1, 1, 1}, .threads = {threads, 1, 1}};
}

}  // namespace norite::ops
