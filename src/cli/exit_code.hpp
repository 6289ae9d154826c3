// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>

namespace norite::cli {

/// What the command tells the shell.
enum class ExitCode : int {
  ok = 0,
  check_failed = 1,
  usage = 2,
  no_device = 3,
  bad_file = 4,
  internal = 70,
};

/// Prints the error to stderr and returns the exit code that fits it.
ExitCode report(const Error& error);
/// For mistakes in the command line itself.
ExitCode report_usage(std::string_view message);

}  // namespace norite::cli
