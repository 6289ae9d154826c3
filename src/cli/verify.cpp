// SPDX-License-Identifier: MIT
#include "cases/reference.hpp"
#include "cli/compile_kernels.hpp"
#include "cli/json_output.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

using cases::Case;

enum class Status : uint8_t { passed, failed, skipped };

std::string_view name(Status status) {
  switch (status) {
    case Status::passed:
      return "passed";
    case Status::failed:
      return "failed";
    case Status::skipped:
      return "skipped";
  }
  return "";
}

struct VerifyResult {
  std::string name;
  std::string op;
  DType dtype;
  double max_error = 0;
  double tolerance = 0;
  Status status = Status::passed;
  std::string detail = {};  ///< what is wrong, or why it was skipped
};

struct VerifyReport {
  DeviceInfo device;
  std::vector<VerifyResult> results = {};

  [[nodiscard]] auto count(Status status) const {
    return std::count_if(results.begin(), results.end(),
                         [=](const VerifyResult& r) { return r.status == status; });
  }
};

Result<cases::Outcome> run_case(const Case& row, const Device& device) {
  NORITE_TRY_ASSIGN(const auto problem, row.prepare(device, cases::FillKind::normal));
  NORITE_TRY(problem->run());
  return problem->check();
}

VerifyResult from_check(const Case& row, std::string name, const cases::OutputCheck& check) {
  return {.name = std::move(name),
          .op = row.op,
          .dtype = row.dtype,
          .max_error = check.max_error,
          .tolerance = check.tolerance,
          .status = check.passed() ? Status::passed : Status::failed,
          .detail = check.detail};
}

std::string with_log(const Error& error) {
  return error.log.empty() ? error.message : fmt::format("{}\n{}", error.message, error.log);
}

/// One result for a case of the table; one for each output of a case from a file.
Result<void> verify_case(const Case& row, const Device& device, bool each_output,
                         std::vector<VerifyResult>& results) {
  const auto outcome = run_case(row, device);
  if (!outcome) {
    const Error& error = outcome.error();
    // What the operation itself refuses came from the file.
    const bool refused = each_output && error.code == Code::invalid_argument;
    if (error.code == Code::bad_file || refused) {
      return fail(Code::bad_file, fmt::format("case '{}': {}", row.name, error.message));
    }
    const Status status = error.code == Code::unsupported ? Status::skipped : Status::failed;
    results.push_back({.name = row.name,
                       .op = row.op,
                       .dtype = row.dtype,
                       .status = status,
                       .detail = with_log(error)});
  } else if (each_output) {
    for (const cases::OutputCheck& check : outcome->outputs) {
      results.push_back(from_check(row, fmt::format("{}/{}", row.name, check.output), check));
    }
  } else {
    results.push_back(from_check(row, row.name, outcome->worst()));
  }
  return {};
}

/// An error that the reference file is to blame for.
tl::unexpected<Error> fail_of_file(const Options& options, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", options.reference, printable(error.message)));
}

/// The rows of the reference file that the filter keeps.
Result<std::vector<Case>> load_reference(const Options& options) {
  NORITE_TRY_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(options.reference));
  auto rows = cases::reference_cases(file);
  if (!rows) return fail_of_file(options, rows.error());
  std::erase_if(
      *rows, [&](const Case& row) { return row.name.find(options.filter) == std::string::npos; });
  if (!rows->empty() || options.filter.empty()) return rows;
  return fail(Code::invalid_argument,
              fmt::format("no case of {} contains '{}'", options.reference, options.filter));
}

Result<VerifyReport> run(const Device& device, const std::vector<const Case*>& rows,
                         const Options& options) {
  VerifyReport report{.device = device.info()};
  compile_kernels(device, rows, options.json);
  Progress progress(rows.size(), options.json);
  for (const Case* row : rows) {
    progress.next(row->name);
    const bool each_output = !options.reference.empty();
    NORITE_TRY(verify_case(*row, device, each_output, report.results));
  }
  return report;
}

Result<VerifyReport> run_table(const Options& options) {
  NORITE_TRY_ASSIGN(const Device device, open_device(options));
  const unsigned suites = cases::verify_suites(device) | (options.large ? cases::kLarge : 0u);
  NORITE_TRY_ASSIGN(const auto rows, select_cases(suites, options));
  return run(device, rows, options);
}

Result<VerifyReport> run_reference(const Options& options) {
  NORITE_TRY_ASSIGN(const std::vector<Case> loaded, load_reference(options));
  NORITE_TRY_ASSIGN(const Device device, open_device(options));
  std::vector<const Case*> rows;
  for (const Case& row : loaded) rows.push_back(&row);
  auto report = run(device, rows, options);
  return report ? report : fail_of_file(options, report.error());
}

Json to_json(const VerifyReport& report) {
  Json results = Json::array();
  for (const VerifyResult& result : report.results) {
    Json entry = {{"case", result.name},
                  {"op", result.op},
                  {"dtype", norite::name(result.dtype)},
                  {"max_error", number_or_null(result.max_error)},
                  {"tolerance", number_or_null(result.tolerance)},
                  {"status", name(result.status)}};
    if (result.status == Status::skipped) entry["reason"] = result.detail;
    if (result.status == Status::failed) entry["detail"] = result.detail;
    results.push_back(std::move(entry));
  }
  return {{"schema_version", kSchemaVersion},
          {"device", report.device.id},
          {"device_name", describe(report.device)},
          {"passed", report.count(Status::passed)},
          {"failed", report.count(Status::failed)},
          {"skipped", report.count(Status::skipped)},
          {"results", results}};
}

Cell status_cell(Status status) {
  switch (status) {
    case Status::passed:
      return {"ok", Tone::good};
    case Status::failed:
      return {"FAIL", Tone::bad};
    case Status::skipped:
      return {"skipped", Tone::faint};
  }
  return {""};
}

double share_of_tolerance(const VerifyResult& result) {
  return result.tolerance > 0 ? result.max_error / result.tolerance : 0;
}

void print_every_case(const VerifyReport& report) {
  Table table({{"case"}, {"error", Align::right}, {"tolerance", Align::right}, {"status"}});
  for (const VerifyResult& result : report.results) {
    const bool ran = result.status != Status::skipped;
    table.add({result.name, ran ? error_text(result.max_error) : std::string(kNothing),
               ran ? error_text(result.tolerance) : std::string(kNothing),
               status_cell(result.status)});
  }
  table.print();
}

/// The cases of one operation and dtype.
struct Group {
  size_t cases = 0;
  const VerifyResult* worst = nullptr;
};

bool is_worse(const VerifyResult& a, const VerifyResult& b) {
  for (const Status status : {Status::failed, Status::passed}) {
    if ((a.status == status) != (b.status == status)) return a.status == status;
  }
  return share_of_tolerance(a) > share_of_tolerance(b);
}

std::vector<Group> group_by_operation(const std::vector<VerifyResult>& results) {
  std::vector<Group> groups;
  for (const VerifyResult& result : results) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.worst->op == result.op && g.worst->dtype == result.dtype;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {.worst = &result});
    ++group->cases;
    if (is_worse(result, *group->worst)) group->worst = &result;
  }
  return groups;
}

void print_summary(const VerifyReport& report) {
  Table table({{"operation"},
               {"dtype"},
               {"cases", Align::right},
               {"worst error", Align::right},
               {"of tolerance", Align::right},
               {"status"}});
  for (const auto& [cases, worst] : group_by_operation(report.results)) {
    const bool ran = worst->status != Status::skipped;
    table.add(
        {worst->op, std::string(norite::name(worst->dtype)), fmt::format("{}", cases),
         ran ? error_text(worst->max_error) : std::string(kNothing),
         ran ? fmt::format("{:.0f} %", 100 * share_of_tolerance(*worst)) : std::string(kNothing),
         status_cell(worst->status)});
  }
  table.print();
  const auto is_16_bit = [](const VerifyResult& result) {  // f32 operations may write copies of it
    return result.tolerance >= cases::unit_roundoff(DType::f16);
  };
  if (std::ranges::any_of(report.results, is_16_bit)) {
    fmt::print("\n  of tolerance: most of a 16-bit tolerance is the final rounding\n");
  }
}

void print_text(const VerifyReport& report, bool verbose) {
  fmt::print("{}: {}\n\n", paint(report.device.id, Tone::strong), describe(report.device));
  verbose ? print_every_case(report) : print_summary(report);
  for (const Status status : {Status::skipped, Status::failed}) {
    for (const VerifyResult& result : report.results) {
      if (result.status != status) continue;
      const Tone tone = status == Status::failed ? Tone::bad : Tone::faint;
      // Reasons may quote the file; failures do not, and findings have lines of their own.
      fmt::print("\n{} {}\n  {}\n", paint(name(status), tone), printable(result.name),
                 status == Status::skipped ? printable(result.detail) : result.detail);
    }
  }
  fmt::print("\n{} passed, {} failed, {} skipped\n", report.count(Status::passed),
             report.count(Status::failed), report.count(Status::skipped));
}

ExitCode finish(const Result<VerifyReport>& result, const Options& options) {
  if (!result) return report(result.error());
  options.json ? print_json(to_json(*result)) : print_text(*result, options.verbose);
  const bool failed = result->count(Status::failed) > 0;
  const bool passed = result->count(Status::passed) > 0;
  if (!failed && !passed) fmt::print(stderr, "norite: nothing was checked\n");
  return passed && !failed ? ExitCode::ok : ExitCode::check_failed;
}

Result<Options> with_checks(const Options& options) {
  if (!options.checked) return options;
  if (options.kernels == "msl") return on_cpu(options, "--checked");
  return fail(Code::invalid_argument, "--checked watches kernel text: it needs --kernels msl");
}

}  // namespace

ExitCode verify(const Options& given) {
  const auto checked = with_checks(given);
  if (!checked) return report(checked.error());
  const Options& options = *checked;
  return finish(options.reference.empty() ? run_table(options) : run_reference(options), options);
}

}  // namespace norite::cli
