// SPDX-License-Identifier: MIT
#include "cli/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>

namespace norite::cli {

std::string shape_text(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.begin(), shape.end(), "×"));
}

std::string size_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto size = static_cast<double>(bytes) / 1024;
  const auto* unit = std::begin(kUnits);
  for (; size >= 999.5; ++unit) size /= 1024;  // three digits would round to 1000
  return fmt::format("{:.3g} {}", size, *unit);
}

std::string time_text(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.1f} µs", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.2f} ms", microseconds / 1e3);
  return fmt::format("{:.2f} s", microseconds / 1e6);
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=,./:+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string printable(std::string_view text) {
  constexpr unsigned char kC1Lead = 0xC2;  // of U+0080 to U+009F in UTF-8
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_c1 = byte == kC1Lead && next >= 0x80 && next < 0xA0;
    if (is_c1) ++i;
    result += is_c1 || byte < 0x20 || byte == 0x7F ? '?' : text[i];
  }
  return result;
}

std::string error_text(double error) {
  return std::isfinite(error) ? fmt::format("{:.1e}", error) : "wrong";
}

}  // namespace norite::cli
