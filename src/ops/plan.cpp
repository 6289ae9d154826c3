// SPDX-License-Identifier: MIT
#include "ops/plan.hpp"

#include <algorithm>

namespace norite::ops {

std::string_view kernel_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "half";
    case DType::bf16:
      return "bfloat";
    default:
      return "float";
  }
}

std::string_view kernel_type(const Argument& operand, const Argument& otherwise) {
  return kernel_type((operand.bound() ? operand : otherwise).view().dtype());
}

namespace {

// Backends align what they allocate; memory of the host's own may begin anywhere.
int64_t address_of(const View& view) {
  const auto* data = view.host_data();
  return data != nullptr ? static_cast<int64_t>(reinterpret_cast<uintptr_t>(data))
                         : view.byte_offset();
}

}  // namespace

int64_t begin_in_pack(const Argument& operand) { return address_of(operand.view()) % 16; }

bool is_aligned(const Argument& operand, std::initializer_list<int64_t> strides,
                int64_t pack_bytes) {
  if (!operand.bound()) return true;
  const View& view = operand.view();
  const int64_t below = std::min<int64_t>(pack_bytes, 16) - 1;  // bits of what is not a multiple
  int64_t bits = address_of(view);
  for (const int64_t stride : strides) bits |= stride * size_of(view.dtype());
  return (bits & below) == 0;
}

Grid groups_of(int64_t items, int64_t each, int64_t threads) {
  return {.groups = {(items - 1) / each + 1, 1, 1}, .threads = {threads, 1, 1}};
}

}  // namespace norite::ops
