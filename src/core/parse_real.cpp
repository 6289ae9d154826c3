// SPDX-License-Identifier: MIT
#include "core/parse_real.hpp"

#include <locale>
#include <sstream>

namespace norite::core {

std::optional<double> parse_real(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> std::noskipws >> value;
  if (stream.fail() || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return value;
}

}  // namespace norite::core
