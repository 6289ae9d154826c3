// SPDX-License-Identifier: MIT
#include "cli/compile_kernels.hpp"
#include "cli/json_output.hpp"
#include "cli/measure.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"

#include <norite/version.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

using cases::Case;
using cases::Roof;

/// Seconds of measured time for each case: enough for a median, short enough to watch.
constexpr double kTimePerCase = 0.15;

struct DemoResult {
  const Case* row;
  Measurement measurement;
  cases::OutputCheck check;
};

struct DemoReport {
  DeviceInfo device;
  double copy_gb_per_s = 0;
  double read_gb_per_s = 0;
  std::vector<DemoResult> results = {};

  [[nodiscard]] auto failures() const {
    return std::count_if(results.begin(), results.end(),
                         [](const DemoResult& r) { return !r.check.passed(); });
  }
};

/// Checks one run against float64, then times more of them.
Result<DemoResult> run_case(const Case& row, const Device& device, Meter& meter) {
  NORITE_TRY_ASSIGN(const auto problem, row.prepare(device, cases::FillKind::normal));
  NORITE_TRY(problem->run());
  NORITE_TRY_ASSIGN(const cases::Outcome outcome, problem->check());
  NORITE_TRY_ASSIGN(const Measurement measurement, meter.measure(row, *problem));
  return DemoResult{&row, measurement, outcome.worst()};
}

Result<DemoReport> run(const Device& device, const std::vector<const Case*>& rows,
                       const Options& options) {
  compile_kernels(device, rows, options.json);
  Progress progress(rows.size() + 1, options.json);
  progress.next("copy and read bandwidth");
  NORITE_TRY_ASSIGN(cases::RoofProbe probe, cases::RoofProbe::make(device));
  Meter meter(device, std::move(probe), kTimePerCase);
  DemoReport report{.device = device.info()};
  for (const Case* row : rows) {
    progress.next(fmt::format("{}, {}", row->op, row->model));
    NORITE_TRY_ASSIGN(DemoResult result, run_case(*row, device, meter));
    report.results.push_back(std::move(result));
  }
  NORITE_TRY_ASSIGN(report.copy_gb_per_s, meter.roof_gb_per_s(Roof::copy));
  NORITE_TRY_ASSIGN(report.read_gb_per_s, meter.roof_gb_per_s(Roof::read));
  return report;
}

void print_devices(const DeviceInfo& used) {
  fmt::print("{}: transformer kernels, forward and backward\n\n",
             paint(fmt::format("norite {}", version()), Tone::strong));
  for (const DeviceInfo& info : Device::list()) {
    if (!info.computes) continue;
    fmt::print("  {}  {}\n", paint(info.id, Tone::strong),
               describe(info.id == used.id ? used : info));
  }
  fmt::print("\n");
  std::fflush(stdout);  // before the progress line begins
}

void print_results(const DemoReport& report) {
  Table table({{"shape of"},
               {"shape", Align::right},
               {"dtype"},
               {"time", Align::right},
               {"GB/s", Align::right},
               {"of roof", Align::right},
               {"error", Align::right},
               {"allowed", Align::right},
               {""}});
  std::string_view last_op;
  for (const auto& [row, measurement, check] : report.results) {
    if (row->op != last_op) table.heading(row->op);
    table.add({row->model, shape_text(row->shape), std::string(name(row->dtype)),
               time_text(measurement.time_us_p50), fmt::format("{:.1f}", measurement.gb_per_s),
               fmt::format("{:.2f}", measurement.share_of_roof), error_text(check.max_error),
               error_text(check.tolerance),
               check.passed() ? Cell("ok", Tone::good) : Cell("FAIL", Tone::bad)});
    last_op = row->op;
  }
  table.print();
  for (const DemoResult& result : report.results) {
    if (result.check.passed()) continue;
    fmt::print("\n{} {}\n  {}\n", paint("FAIL", Tone::bad), result.row->name, result.check.detail);
  }
}

void print_footer(const DemoReport& report) {
  fmt::print(
      "\n  roof     copy {:.1f} GB/s, read {:.1f} GB/s (a copy counts both directions), measured\n"
      "           between the runs on the same threads\n"
      "  error    largest deviation from float64, relative to the terms that were added up\n",
      report.copy_gb_per_s, report.read_gb_per_s);
  const auto total = static_cast<std::ptrdiff_t>(report.results.size());
  fmt::print("  checks   {} of {} right\n", total - report.failures(), total);
}

Json to_json(const DemoReport& report) {
  Json results = Json::array();
  for (const auto& [row, measurement, check] : report.results) {
    results.push_back({{"case", row->name},
                       {"op", row->op},
                       {"model", row->model},
                       {"dtype", name(row->dtype)},
                       {"shape", std::vector<int64_t>(row->shape.begin(), row->shape.end())},
                       {"time_us_p50", measurement.time_us_p50},
                       {"gb_per_s", measurement.gb_per_s},
                       {"share_of_roof", measurement.share_of_roof},
                       {"max_error", number_or_null(check.max_error)},
                       {"tolerance", check.tolerance},
                       {"status", check.passed() ? "passed" : "failed"}});
  }
  return {{"schema_version", kSchemaVersion},
          {"device", report.device.id},
          {"device_name", describe(report.device)},
          {"threads", report.device.threads},
          {"roof_gb_per_s", report.copy_gb_per_s},
          {"read_roof_gb_per_s", report.read_gb_per_s},
          {"results", results}};
}

}  // namespace

ExitCode demo(const Options& options) {
  const auto rows = select_cases(cases::kDemo, options);
  if (!rows) return report(rows.error());
  const auto device = open_device(options);
  if (!device) return report(device.error());
  if (!options.json) print_devices(device->info());
  const auto result = run(*device, *rows, options);
  if (!result) return report(result.error());
  if (options.json) {
    print_json(to_json(*result));
  } else {
    print_results(*result);
    print_footer(*result);
  }
  return result->failures() == 0 ? ExitCode::ok : ExitCode::check_failed;
}

}  // namespace norite::cli
