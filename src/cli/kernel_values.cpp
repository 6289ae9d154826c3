// SPDX-License-Identifier: MIT
#include "cli/kernel_values.hpp"

#include <norite/float16.hpp>

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "cases/values.hpp"

namespace norite::cli {
namespace {

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// The digits after an optional sign.
std::string_view unsigned_part(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text;
}

std::optional<int64_t> parse_literal(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = unsigned_part(text);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  if (digits.starts_with('-')) return std::nullopt;
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
  if (error != std::errc() || stop != end) return std::nullopt;
  return negative ? -value : value;
}

template <class T>
Result<void> append_integer(std::vector<std::byte>& bytes, std::string_view text) {
  using Limits = std::numeric_limits<T>;
  const auto value = parse_literal(text);
  if (!value || *value < int64_t{Limits::min()} || *value > int64_t{Limits::max()}) {
    return fail(Code::invalid_argument, fmt::format("'{}' is no integer from {} to {}", text,
                                                    Limits::min(), Limits::max()));
  }
  append(bytes, static_cast<T>(*value));
  return {};
}

bool is_infinity(std::string_view text) { return unsigned_part(lower(text)) == "inf"; }

/// Whether strtod may see it: it would also take white space, "infinity" and "nan(...)".
bool looks_like_float(std::string_view text) {
  const std::string word = lower(unsigned_part(text));
  if (word == "inf" || word == "nan") return true;
  return !word.empty() && (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '.');
}

/// The float next to a double towards zero, its last bit set where that is inexact. Rounding that
/// to 16 bits gives what rounding the double itself would.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || nearest == value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

Result<void> append_float(std::vector<std::byte>& bytes, DType dtype, const std::string& text) {
  char* stop = nullptr;
  const double exact = std::strtod(text.c_str(), &stop);
  if (!looks_like_float(text) || *stop != '\0') {
    return fail(Code::invalid_argument, fmt::format("'{}' is no number", text));
  }
  const size_t before = bytes.size();
  if (dtype == DType::f32) append(bytes, std::strtof(text.c_str(), nullptr));
  if (dtype == DType::f16) append(bytes, to_float16(round_to_odd(exact)).bits);
  if (dtype == DType::bf16) append(bytes, to_bfloat16(round_to_odd(exact)).bits);
  if (!std::isinf(cases::decode(dtype, &bytes[before])) || is_infinity(text)) return {};
  return fail(Code::invalid_argument,
              fmt::format("'{}' is beyond the range of {}", text, name(dtype)));
}

}  // namespace

Result<void> append_value(std::vector<std::byte>& bytes, DType dtype, std::string_view text) {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return append_float(bytes, dtype, std::string(text));
    case DType::i32:
      return append_integer<int32_t>(bytes, text);
    case DType::u32:
      return append_integer<uint32_t>(bytes, text);
    case DType::i16:
      return append_integer<int16_t>(bytes, text);
    case DType::u16:
      return append_integer<uint16_t>(bytes, text);
    case DType::i8:
      return append_integer<int8_t>(bytes, text);
    case DType::u8:
      return append_integer<uint8_t>(bytes, text);
  }
  return {};
}

std::string value_text(DType dtype, double value) {
  return is_float(dtype) ? fmt::format("{:.6g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace norite::cli
