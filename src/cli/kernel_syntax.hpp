// SPDX-License-Identifier: MIT
// The small pieces that values of `norite kernel run` are made of.
#pragma once

#include <norite/error.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace norite::cli {

/// The parts between commas; one more than there are commas.
std::vector<std::string_view> split_commas(std::string_view text);

/// A decimal integer of at least `least`. Errors: invalid_argument.
Result<int64_t> parse_integer(std::string_view text, int64_t least);

/// X, X,Y or X,Y,Z, each at least one; what is missing is one. Errors: invalid_argument.
Result<std::array<int64_t, 3>> parse_extents(std::string_view text);

/// "NAME=VALUE" in its two parts, neither empty. Errors: invalid_argument.
Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                             char separator = '=');

/// The error with the option it comes from in front.
Error in_option(std::string_view option, std::string_view value, Error error);

}  // namespace norite::cli
