// SPDX-License-Identifier: MIT
// What values of options must be, beyond their type.
#pragma once

#include <CLI/CLI.hpp>

namespace norite::cli {

CLI::Validator not_empty();
/// From 0 to `most`; unlike CLI::Range, it refuses NaN.
CLI::Validator seconds_up_to(double most);

}  // namespace norite::cli
