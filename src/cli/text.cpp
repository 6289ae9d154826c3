// SPDX-License-Identifier: MIT
#include "cli/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace norite::cli {

std::string shape_text(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.begin(), shape.end(), "×"));
}

std::string time_text(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.1f} µs", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.2f} ms", microseconds / 1e3);
  return fmt::format("{:.2f} s", microseconds / 1e6);
}

std::string error_text(double error) {
  return std::isfinite(error) ? fmt::format("{:.1e}", error) : "wrong";
}

}  // namespace norite::cli
