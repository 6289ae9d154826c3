// SPDX-License-Identifier: MIT
#include "cli/json_output.hpp"
#include "cli/kernel.hpp"
#include "cli/kernel_file.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

using Severity = Diagnostic::Severity;

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::note:
      return Tone::faint;
    case Severity::warning:
      return Tone::strong;
    case Severity::error:
      return Tone::bad;
  }
  return Tone::plain;
}

struct CheckReport {
  std::string file;
  std::vector<Diagnostic> diagnostics;

  [[nodiscard]] auto count(Severity severity) const {
    return std::ranges::count(diagnostics, severity, &Diagnostic::severity);
  }
};

Json to_json(const CheckReport& report) {
  Json diagnostics = Json::array();
  for (const Diagnostic& diagnostic : report.diagnostics) {
    diagnostics.push_back({{"severity", name(diagnostic.severity)},
                           {"place", diagnostic.place},
                           {"message", diagnostic.message}});
  }
  return {{"schema_version", kSchemaVersion},
          {"file", report.file},
          {"errors", report.count(Severity::error)},
          {"warnings", report.count(Severity::warning)},
          {"diagnostics", diagnostics}};
}

std::string count_text(long count, std::string_view what) {
  if (count == 0) return fmt::format("no {}s", what);
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_text(const CheckReport& report) {
  for (const Diagnostic& diagnostic : report.diagnostics) {
    const std::string severity = fmt::format("{}:", name(diagnostic.severity));
    fmt::print("{}: {} {}\n", diagnostic.place, paint(severity, tone_of(diagnostic.severity)),
               diagnostic.message);
  }
  fmt::print("{}: {}, {}\n", report.file, count_text(report.count(Severity::error), "error"),
             count_text(report.count(Severity::warning), "warning"));
}

}  // namespace

ExitCode kernel_check(const KernelOptions& options) {
  const auto file = load_kernel_file(options);
  if (!file) return report(file.error());
  auto diagnostics = check_kernels(file->text, file->defines);
  if (!diagnostics) return report(diagnostics.error());
  for (Diagnostic& one : *diagnostics) one.message = with_hint(std::move(one.message));
  const CheckReport result{options.file, *std::move(diagnostics)};
  options.common.json ? print_json(to_json(result)) : print_text(result);
  return result.count(Severity::error) == 0 ? ExitCode::ok : ExitCode::check_failed;
}

}  // namespace norite::cli
