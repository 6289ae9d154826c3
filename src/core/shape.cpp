// SPDX-License-Identifier: MIT
#include "norite/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace norite {

std::optional<int64_t> Shape::count() const noexcept {
  if (!valid()) return std::nullopt;
  int64_t product = 1;
  bool any_zero = false;
  for (const int64_t extent : *this) {
    if (extent < 0) return std::nullopt;
    any_zero = any_zero || extent == 0;
    // A zero must not hide an overflow of the others: [2^40, 2^40, 0] is refused too.
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return any_zero ? 0 : product;
}

std::string to_string(const Shape& shape) {
  if (!shape.valid()) return fmt::format("[more than {} axes]", Shape::kMaxRank);
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

Strides contiguous_strides(const Shape& shape) noexcept {
  Strides strides = shape;
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    if (__builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
  }
  return strides;
}

}  // namespace norite
