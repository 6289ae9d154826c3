// SPDX-License-Identifier: MIT
#include "cli/json_output.hpp"

#include <fmt/format.h>

#include <cmath>

namespace norite::cli {

void print_json(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace norite::cli
