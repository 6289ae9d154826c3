// SPDX-License-Identifier: MIT
#include "cli/bench_graph.hpp"

#include "cases/gemma_block.hpp"
#include "cases/timing.hpp"
#include "cli/bench_decode.hpp"
#include "cli/host_time.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

using cases::GemmaBlock;

/// How a block is measured: for one token, where recording and launching count, and for so many
/// that bytes from memory do.
struct BlockSize {
  int64_t tokens;
  size_t min_repeats;

  [[nodiscard]] std::string name() const {
    return fmt::format("graph[bf16,gemma_block,batch={}", tokens);
  }
};

/// Those whose names contain the filter.
std::vector<BlockSize> block_sizes(const Device& device, std::string_view filter) {
  const int64_t many = cases::runs_on_host(device) ? 512 : 4096;  // beyond the caches
  std::vector<BlockSize> sizes = {{1, 200}, {many, 5}};
  std::erase_if(
      sizes, [&](const BlockSize& size) { return size.name().find(filter) == std::string::npos; });
  return sizes;
}

/// The sum of what the dispatches of a list take, each by its own clock.
Result<double> kernel_time_us(const Device& device, const GemmaBlock& block, size_t repeats) {
  std::vector<double> sums;
  for (size_t i = 0; i < repeats; ++i) {
    Encoder encoder = device.encoder({.timing = true});
    NORITE_TRY(block.record(encoder));
    NORITE_TRY(encoder.submit_and_wait());
    double sum = 0;
    for (const DispatchTiming& timing : encoder.timings()) sum += timing.duration_us;
    sums.push_back(sum);
  }
  return median(std::move(sums));
}

/// A block of a model eagerly, replayed, and replayed after it was optimised.
Result<std::vector<GraphMeasurement>> measure_block(const Device& device, const BlockSize& size,
                                                    double min_time_s) {
  NORITE_TRY_ASSIGN(const GemmaBlock block, GemmaBlock::make(device, DType::bf16, size.tokens));
  const auto record = [&](Encoder& encoder) { return block.record(encoder); };
  std::vector<GraphMeasurement> results;
  const auto add = [&](std::string_view how, const Graph& graph,
                       const std::function<Result<void>()>& run) -> Result<void> {
    GraphMeasurement result{.name = fmt::format("{},{}]", size.name(), how),
                            .operations = static_cast<int64_t>(graph.describe().operations.size()),
                            .bytes = bytes_of(graph)};
    NORITE_TRY_ASSIGN(result.time_us_p50, median_us(min_time_s, size.min_repeats, run));
    results.push_back(std::move(result));
    return {};
  };
  NORITE_TRY_ASSIGN(Graph captured, Graph::capture(device, record));
  NORITE_TRY_ASSIGN(Graph optimised, Graph::capture(device, record));
  NORITE_TRY(optimised.optimise());
  const auto run_eagerly = [&]() -> Result<void> {
    Encoder encoder = device.encoder();
    NORITE_TRY(block.record(encoder));
    return encoder.submit_and_wait();
  };
  NORITE_TRY(add("eager", captured, run_eagerly));
  NORITE_TRY(add("replayed", captured, [&] { return captured.replay(); }));
  NORITE_TRY(add("optimised", optimised, [&] { return optimised.replay(); }));
  if (size.tokens > 1) return results;  // kernels share the threads and take longer side by side
  NORITE_TRY_ASSIGN(const double kernels_us, kernel_time_us(device, block, size.min_repeats));
  results[0].kernels_us = results[1].kernels_us = kernels_us;
  return results;
}

}  // namespace

int64_t bytes_of(const Graph& graph) {
  int64_t bytes = 0;
  for (const auto& operation : graph.describe().operations) bytes += operation.bytes;
  return bytes;
}

bool wants_graphs(const Device& device, std::string_view filter) {
  return !block_sizes(device, filter).empty() || !decode_names(filter).empty();
}

Result<std::vector<GraphMeasurement>> measure_graphs(const Device& device, std::string_view filter,
                                                     double min_time_s) {
  std::vector<GraphMeasurement> results;
  for (const BlockSize& size : block_sizes(device, filter)) {
    NORITE_TRY_ASSIGN(auto block, measure_block(device, size, min_time_s));
    std::ranges::move(block, std::back_inserter(results));
  }
  NORITE_TRY_ASSIGN(auto decode, measure_decode(device, filter, min_time_s));
  std::ranges::move(decode, std::back_inserter(results));
  return results;
}

void print_graphs(const std::vector<GraphMeasurement>& measurements) {
  Table table({{"graph"},
               {"operations", Align::right},
               {"bytes", Align::right},
               {"time", Align::right},
               {"beyond kernels, each", Align::right},
               {"a launch", Align::right}});
  for (const GraphMeasurement& one : measurements) {
    table.add({one.name, fmt::format("{}", one.operations), fmt::format("{}", one.bytes),
               time_text(one.time_us_p50),
               one.kernels_us > 0 ? fmt::format("{:.2f} µs", one.overhead_us()) : "-",
               one.launch_us ? fmt::format("{:.2f} µs", *one.launch_us) : "-"});
  }
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
      row["overhead_us_per_operation"] = one.overhead_us();
    }
    if (one.launch_us) row["us_per_launch"] = *one.launch_us;
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace norite::cli
