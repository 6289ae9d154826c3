// SPDX-License-Identifier: MIT
#include "norite/dtype.hpp"

namespace norite {

std::string_view name(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::u32:
      return "u32";
    case DType::i16:
      return "i16";
    case DType::u16:
      return "u16";
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
  }
  return "unknown";
}

std::optional<DType> parse_dtype(std::string_view text) noexcept {
  for (const DType dtype : kAllDTypes) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

}  // namespace norite
