// SPDX-License-Identifier: MIT
#include "cli/bench_graph.hpp"

#include "cli/bench_decode.hpp"
#include "cli/bench_programs.hpp"
#include "cli/host_time.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

/// The sum of what the dispatches of a list take, each by its own clock.
Result<double> kernel_time_us(const Device& device, const Graph::Record& record, size_t repeats) {
  std::vector<double> sums;
  for (size_t i = 0; i < repeats; ++i) {
    Encoder encoder = device.encoder({.timing = Timing::each});
    NORITE_TRY(record(encoder));
    NORITE_TRY(encoder.submit_and_wait());
    double sum = 0;
    for (const DispatchTiming& timing : encoder.timings()) sum += timing.duration_us;
    sums.push_back(sum);
  }
  return median(std::move(sums));
}

/// A program eagerly, replayed, and replayed after it was optimised.
Result<std::vector<GraphMeasurement>> measure_program(const Device& device,
                                                      const GraphProgram& program,
                                                      double min_time_s) {
  NORITE_TRY_ASSIGN(const Graph::Record record, program.prepare(device));
  std::vector<GraphMeasurement> results;
  const auto add = [&](std::string_view how, const Graph& graph,
                       const std::function<Result<void>()>& run) -> Result<void> {
    GraphMeasurement result{.name = fmt::format("{},{}]", program.name, how),
                            .operations = static_cast<int64_t>(graph.describe().operations.size()),
                            .bytes = bytes_of(graph)};
    NORITE_TRY_ASSIGN(result.time_us_p50, median_us(min_time_s, program.min_repeats, run));
    results.push_back(std::move(result));
    return {};
  };
  NORITE_TRY_ASSIGN(Graph captured, Graph::capture(device, record));
  NORITE_TRY_ASSIGN(Graph optimised, Graph::capture(device, record));
  NORITE_TRY(optimised.optimise());
  const auto run_eagerly = [&]() -> Result<void> {
    Encoder encoder = device.encoder();
    NORITE_TRY(record(encoder));
    return encoder.submit_and_wait();
  };
  NORITE_TRY(add("eager", captured, run_eagerly));
  NORITE_TRY(add("replayed", captured, [&] { return captured.replay(); }));
  NORITE_TRY(add("optimised", optimised, [&] { return optimised.replay(); }));
  GraphMeasurement &eager = results[0], &replayed = results[1], &fused = results[2];
  fused.speedup = eager.time_us_p50 / fused.time_us_p50;
  fused.promised = static_cast<double>(eager.bytes) / static_cast<double>(fused.bytes);
  if (program.counts_launches) {
    NORITE_TRY_ASSIGN(eager.kernels_us, kernel_time_us(device, record, program.min_repeats));
    replayed.kernels_us = eager.kernels_us;
  }
  return results;
}

}  // namespace

int64_t bytes_of(const Graph& graph) {
  int64_t bytes = 0;
  for (const auto& operation : graph.describe().operations) bytes += operation.bytes;
  return bytes;
}

bool wants_graphs(const Device& device, std::string_view filter) {
  return !graph_programs(device, filter).empty() || !decode_names(filter).empty();
}

Result<std::vector<GraphMeasurement>> measure_graphs(const Device& device, std::string_view filter,
                                                     double min_time_s) {
  std::vector<GraphMeasurement> results;
  for (const GraphProgram& program : graph_programs(device, filter)) {
    NORITE_TRY_ASSIGN(auto measured, measure_program(device, program, min_time_s));
    std::ranges::move(measured, std::back_inserter(results));
  }
  NORITE_TRY_ASSIGN(auto decode, measure_decode(device, filter, min_time_s));
  std::ranges::move(decode, std::back_inserter(results));
  return results;
}

void print_graphs(const std::vector<GraphMeasurement>& measurements) {
  const auto microseconds = [](std::optional<double> time) {
    return time ? fmt::format("{:.2f} µs", *time) : std::string(kNothing);
  };
  Table table({{"graph"},
               {"operations", Align::right},
               {"bytes", Align::right},
               {"time", Align::right},
               {"speedup (by bytes)", Align::right},
               {"beyond kernels, each", Align::right},
               {"a launch", Align::right}});
  for (const GraphMeasurement& one : measurements) {
    const std::string speedup = fmt::format("{:.2f} ({:.2f})", one.speedup, one.promised);
    table.add({one.name, fmt::format("{}", one.operations), size_text(one.bytes),
               time_text(one.time_us_p50), one.speedup > 0 ? speedup : std::string(kNothing),
               microseconds(one.overhead_us()), microseconds(one.launch_us)});
  }
  table.drop_columns_of_nothing();
  table.print();
}

Json to_json(const std::vector<GraphMeasurement>& measurements) {
  Json result = Json::array();
  for (const GraphMeasurement& one : measurements) {
    Json row = {{"graph", one.name},
                {"operations", one.operations},
                {"bytes", one.bytes},
                {"time_us_p50", one.time_us_p50}};
    if (one.kernels_us > 0) {
      row["kernels_us"] = one.kernels_us;
      const auto overhead = one.overhead_us();
      row["overhead_us_per_operation"] = overhead ? Json(*overhead) : Json(nullptr);
    }
    if (one.speedup > 0) {
      row["speedup"] = one.speedup;
      row["speedup_promised_by_bytes"] = one.promised;
    }
    if (one.launch_us) row["us_per_launch"] = *one.launch_us;
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace norite::cli
