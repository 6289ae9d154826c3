// SPDX-License-Identifier: MIT
#include "cli/exit_code.hpp"

#include "cli/terminal.hpp"

#include <fmt/format.h>

namespace norite::cli {
namespace {

ExitCode exit_code_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return ExitCode::usage;
    case Code::unsupported:
    case Code::unavailable:
    case Code::out_of_memory:
      return ExitCode::no_device;
    case Code::not_found:
    case Code::bad_file:
    case Code::compile_failed:
      return ExitCode::bad_file;
    case Code::execution_failed:
    case Code::timeout:
    case Code::check_failed:
      return ExitCode::check_failed;
    case Code::already_exists:
    case Code::failed_precondition:
    case Code::internal:
      return ExitCode::internal;
  }
  return ExitCode::internal;
}

void print_error(std::string_view message) {
  fmt::print(stderr, "norite: {} {}\n", paint("error:", Tone::bad, stderr), message);
}

}  // namespace

ExitCode report(const Error& error) {
  print_error(error.message);
  if (!error.log.empty()) {
    fmt::print(stderr, "{}{}", error.log, error.log.ends_with('\n') ? "" : "\n");
  }
  return exit_code_of(error.code);
}

ExitCode report_usage(std::string_view message) {
  print_error(message);
  return ExitCode::usage;
}

}  // namespace norite::cli
