// SPDX-License-Identifier: MIT
#include "cli/kernel_syntax.hpp"

#include <fmt/format.h>

#include <charconv>

namespace norite::cli {

std::vector<std::string_view> split_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t comma = text.find(','); comma != text.npos; comma = text.find(',')) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

Result<int64_t> parse_integer(std::string_view text, int64_t least) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= least) return value;
  return fail(Code::invalid_argument,
              fmt::format("'{}' is no integer of {} or more that 64 bits hold", text, least));
}

Result<std::array<int64_t, 3>> parse_extents(std::string_view text) {
  std::array<int64_t, 3> extents = {1, 1, 1};
  const auto parts = split_commas(text);
  if (parts.size() > extents.size()) {
    return fail(Code::invalid_argument, "expected X, X,Y or X,Y,Z");
  }
  for (size_t axis = 0; axis < parts.size(); ++axis) {
    NORITE_TRY_ASSIGN(extents[axis], parse_integer(parts[axis], 1));
  }
  return extents;
}

Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                             char separator) {
  const size_t at = text.find(separator);
  if (at == text.npos || at == 0 || at + 1 == text.size()) {
    return fail(Code::invalid_argument,
                fmt::format("expected something before and after '{}'", separator));
  }
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

Error in_option(std::string_view option, std::string_view value, Error error) {
  error.message = fmt::format("{} {}: {}", option, value, error.message);
  return error;
}

}  // namespace norite::cli
