// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

namespace norite::cli {

/// Gives a verb its --version.
void add_version_flag(CLI::App& verb);

}  // namespace norite::cli
