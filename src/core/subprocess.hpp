// SPDX-License-Identifier: MIT
// Runs another program, without a shell.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "norite/error.hpp"

namespace norite::core {

struct Subprocess {
  std::vector<std::string> arguments;  // [0] is the program's path
  std::string input_path = "/dev/null";
  std::chrono::milliseconds time_limit = std::chrono::seconds(120);
  size_t max_output_bytes = size_t{256} << 10;
};

struct SubprocessResult {
  int status = 0;          // exit status, or 128 + signal as shells have it
  bool timed_out = false;  // it was killed at its time limit
  std::string output;      // standard output and error together; what is too long is cut off
};

/// Waits for the program's end. An error means that it could not be started at all.
Result<SubprocessResult> run(const Subprocess& subprocess);

/// The path of an executable file: `name` itself where it has a slash, else searched in PATH. Empty
/// when there is none.
std::string find_program(const std::string& name);

}  // namespace norite::core
