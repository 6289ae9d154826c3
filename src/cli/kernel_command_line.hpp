// SPDX-License-Identifier: MIT
#pragma once

#include "cli/kernel.hpp"

#include <CLI/CLI.hpp>

#include <functional>

namespace norite::cli {

/// `norite kernel` and its verbs as CLI11 sees them.
class KernelCommandLine {
 public:
  /// Where the arguments name one of the verbs, `chosen` becomes what runs it.
  KernelCommandLine(CLI::App& parent, std::function<ExitCode()>& chosen);
  KernelCommandLine(const KernelCommandLine&) = delete;
  KernelCommandLine& operator=(const KernelCommandLine&) = delete;

 private:
  using Verb = ExitCode (*)(const KernelOptions&);

  CLI::App* add_verb(const std::string& name, Verb verb, const std::string& summary,
                     const std::string& description, const std::string& footer);
  void add_run_options(CLI::App* verb);
  void add_list(CLI::App* verb, const std::string& name, std::vector<std::string>& target,
                const std::string& help, const std::string& type);

  CLI::App* kernel_;
  std::function<ExitCode()>& chosen_;
  KernelOptions options_;
};

}  // namespace norite::cli
