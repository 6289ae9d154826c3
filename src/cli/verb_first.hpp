// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace norite::cli {

/// The arguments with what stands before the verb behind it, where CLI11 looks for its options:
/// `--json verify` becomes `verify --json`. Only the options that verbs share move, all or none;
/// none where one of them means something else to the verb.
std::vector<std::string> verb_first(std::vector<std::string> arguments, const CLI::App& app);

}  // namespace norite::cli
