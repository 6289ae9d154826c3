// SPDX-License-Identifier: MIT
#include "cli/bench_graph.hpp"
#include "cli/compile_kernels.hpp"
#include "cli/json_output.hpp"
#include "cli/measure.hpp"
#include "cli/selection.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"

#include "cases/timing.hpp"

#include <norite/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace norite::cli {
namespace {

using cases::Case;
using cases::Roof;

struct BenchResult {
  const Case* row;
  Measurement measurement;
};

struct BenchReport {
  std::string command;
  std::string date;  ///< ISO 8601, in UTC, when it began
  DeviceInfo device;
  std::string_view store_kind;
  double copy_gb_per_s = 0;
  double read_gb_per_s = 0;
  std::vector<BenchResult> results = {};
  std::vector<GraphMeasurement> graphs = {};
};

Result<BenchReport> run(const Options& options) {
  const std::string date = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  NORITE_TRY_ASSIGN(const Device device, open_device(options));
  const unsigned suite = cases::runs_on_host(device) ? cases::kBench : cases::kBenchGpu;
  auto selected = select_cases(suite, options);
  if (!selected && !wants_graphs(device, options.filter)) return tl::unexpected(selected.error());
  const auto rows = selected.value_or(std::vector<const Case*>());
  compile_kernels(device, rows, options.json);
  Progress progress(rows.size() + 2, options.json);
  progress.next("copy and read bandwidth");
  NORITE_TRY_ASSIGN(cases::RoofProbe probe, cases::RoofProbe::make(device));
  BenchReport report{.command = options.command,
                     .date = date,
                     .device = device.info(),
                     .store_kind = probe.store_kind()};
  Meter meter(device, std::move(probe), options.min_time_s);
  NORITE_TRY(meter.roof_gb_per_s(Roof::copy));
  for (const Case* row : rows) {
    progress.next(row->name);
    NORITE_TRY_ASSIGN(const auto problem, row->prepare(device, cases::FillKind::normal));
    NORITE_TRY_ASSIGN(const Measurement measurement, meter.measure(*row, *problem));
    report.results.push_back({row, measurement});
  }
  // A filter that names cases means those alone, and not the graphs of their operations.
  if (rows.empty() || options.filter.empty()) {
    progress.next("graphs");
    auto graphs = measure_graphs(device, options.filter, options.min_time_s);
    if (!graphs && (rows.empty() || graphs.error().code != Code::out_of_memory)) {
      return tl::unexpected(graphs.error());
    }
    if (graphs) report.graphs = *std::move(graphs);
    if (!graphs) fmt::print(stderr, "graphs are left out: {}\n", graphs.error().message);
  }
  NORITE_TRY_ASSIGN(report.copy_gb_per_s, meter.roof_gb_per_s(Roof::copy));
  NORITE_TRY_ASSIGN(report.read_gb_per_s, meter.roof_gb_per_s(Roof::read));
  return report;
}

void print_text(const BenchReport& report) {
  fmt::print("{}: {}\n", paint(report.device.id, Tone::strong), describe(report.device));
  fmt::print(
      "roof: copy {:.1f} GB/s ({} stores), read {:.1f} GB/s (a copy counts both directions)\n\n",
      report.copy_gb_per_s, report.store_kind, report.read_gb_per_s);
  Table table(
      {{"case"}, {"time", Align::right}, {"GB/s", Align::right}, {"of roof", Align::right}});
  for (const auto& [row, measurement] : report.results) {
    table.add({row->name, time_text(measurement.time_us_p50),
               fmt::format("{:.1f}", measurement.gb_per_s),
               fmt::format("{:.2f}", measurement.share_of_roof)});
  }
  if (!report.results.empty()) table.print();
  if (!report.results.empty() && !report.graphs.empty()) fmt::print("\n");
  if (!report.graphs.empty()) print_graphs(report.graphs);
}

Json to_json(const BenchReport& report) {
  Json results = Json::array();
  for (const auto& [row, measurement] : report.results) {
    results.push_back({{"case", row->name},
                       {"op", row->op},
                       {"dtype", name(row->dtype)},
                       {"shape", std::vector<int64_t>(row->shape.begin(), row->shape.end())},
                       {"bytes", row->work.bytes()},
                       {"flops", row->work.flops},
                       {"repeats", measurement.repeats},
                       {"time_us_p50", measurement.time_us_p50},
                       {"gb_per_s", measurement.gb_per_s},
                       {"roof", row->roof == Roof::read ? "read" : "copy"},
                       {"roof_gb_per_s", measurement.roof_gb_per_s},
                       {"share_of_roof", measurement.share_of_roof}});
  }
  return {{"schema_version", kSchemaVersion},
          {"version", version()},
          {"date", report.date},
          {"command", report.command},
          {"device", report.device.id},
          {"device_name", describe(report.device)},
          {"threads", report.device.threads},
          {"roof_gb_per_s", report.copy_gb_per_s},
          {"roof_stores", report.store_kind},
          {"read_roof_gb_per_s", report.read_gb_per_s},
          {"results", results},
          {"graphs", to_json(report.graphs)}};
}

}  // namespace

ExitCode bench(const Options& options) {
  const auto result = run(options);
  if (!result) return report(result.error());
  if (options.json) {
    print_json(to_json(*result));
  } else {
    print_text(*result);
  }
  return ExitCode::ok;
}

}  // namespace norite::cli
