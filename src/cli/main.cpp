// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using norite::cli::ExitCode;
  try {
    return static_cast<int>(norite::cli::run_command(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "norite: internal error: %s\n", error.what());
  }
  return static_cast<int>(ExitCode::internal);
}
