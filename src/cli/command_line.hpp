// SPDX-License-Identifier: MIT
#pragma once

#include "cli/exit_code.hpp"

namespace norite::cli {

/// Parses the arguments, runs the verb they name, and returns the exit code.
ExitCode run_command(int argc, char** argv);

}  // namespace norite::cli
