// SPDX-License-Identifier: MIT
// `norite kernel`: lists, checks and runs the kernels of a .metal file.
#pragma once

#include "cli/exit_code.hpp"
#include "cli/options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace norite::cli {

/// On the CPU, longer dispatches are taken for endless where the command line says nothing.
constexpr double kDefaultTimeLimitSeconds = 60;

/// What the command line asks of a kernel file, as it is written there.
struct KernelOptions {
  Options common;  ///< device, json
  std::string file;
  std::vector<std::string> include_directories;
  std::vector<std::string> defines;  ///< NAME or NAME=VALUE

  // run alone
  std::string entry;                            ///< empty: the only one
  std::string groups;                           ///< X[,Y[,Z]], as the next two
  std::string grid;                             ///< threads of the whole grid, instead of groups
  std::string threads;                          ///< of a group
  std::vector<std::string> threadgroup_memory;  ///< INDEX:BYTES
  std::vector<std::string> arguments;           ///< INDEX=SPEC
  std::vector<std::string> saves;               ///< INDEX=PATH
  std::vector<std::string> constants;           ///< NAME=VALUE or INDEX=VALUE
  std::optional<double> time_limit_s;           ///< of the CPU, as is `checked`
  bool checked = false;
  bool time = false;
};

ExitCode kernel_list(const KernelOptions& options);
ExitCode kernel_check(const KernelOptions& options);
ExitCode kernel_run(const KernelOptions& options);

}  // namespace norite::cli
