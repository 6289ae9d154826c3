// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace norite::core {

/// The number that the whole text is, whatever the program's locale. Not every standard library
/// has std::from_chars for real numbers.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

}  // namespace norite::core
