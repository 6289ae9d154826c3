// SPDX-License-Identifier: MIT
#pragma once

#include <norite/export.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace norite {

enum class DType : uint8_t { f32, f16, bf16, i32, u32, i16, u16, i8, u8 };

inline constexpr std::array kAllDTypes = {DType::f32, DType::f16, DType::bf16,
                                          DType::i32, DType::u32, DType::i16,
                                          DType::u16, DType::i8,  DType::u8};
/// The dtypes that activations and weights may have.
inline constexpr std::array kFloatDTypes = {DType::f32, DType::f16, DType::bf16};

/// Bytes of one element.
constexpr int64_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::i8:
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr bool is_float(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

/// "f32", "bf16", ...
NORITE_API std::string_view name(DType dtype) noexcept;
/// The inverse of name(); empty for anything else.
NORITE_API std::optional<DType> parse_dtype(std::string_view text) noexcept;

}  // namespace norite
