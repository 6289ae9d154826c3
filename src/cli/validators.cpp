// SPDX-License-Identifier: MIT
#include "cli/validators.hpp"

#include <fmt/format.h>

#include <cmath>

namespace norite::cli {

CLI::Validator not_empty() {
  return {[](const std::string& text) -> std::string { return text.empty() ? "it is empty" : ""; },
          ""};
}

CLI::Validator seconds_up_to(double most) {
  return {[most](const std::string& text) -> std::string {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
            if (is_number && value >= 0 && value <= most) return "";
            return fmt::format("it is '{}', expected seconds from 0 to {}", text, most);
          },
          ""};
}

}  // namespace norite::cli
