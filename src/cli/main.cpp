// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

namespace {

using norite::cli::ExitCode;

/// The exit code, unless some of the output is lost, as on a full disk.
ExitCode after_output(ExitCode code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written) return code;
  std::fprintf(stderr, "norite: error: stdout cannot be written to%s%s\n", errno ? ": " : "",
               errno ? std::strerror(errno) : "");
  return ExitCode::internal;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(after_output(norite::cli::run_command(argc, argv)));
  } catch (const std::exception& error) {
    if (after_output(ExitCode::ok) != ExitCode::ok) return static_cast<int>(ExitCode::internal);
    std::fprintf(stderr, "norite: internal error: %s\n", error.what());
  }
  return static_cast<int>(ExitCode::internal);
}
