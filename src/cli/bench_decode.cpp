// SPDX-License-Identifier: MIT
#include "cli/bench_decode.hpp"

#include "cases/filled_buffer.hpp"
#include "cli/host_time.hpp"

#include <fmt/format.h>

namespace norite::cli {
namespace {

using cases::filled;

/// Launches of a graph. The time of one is the difference of a longer graph and this one over the
/// launches that it has more: what a replay costs the host, and what waiting for it does, is in
/// both.
constexpr int64_t kLaunches = 64, kMore = 576;
constexpr size_t kMinRepeats = 5;

struct Size {
  DType dtype;
  int64_t rows, dim;
  bool chained;  // each norm reads what the one before wrote; else all read and write the same

  [[nodiscard]] std::string name() const {
    return fmt::format("graph[{},decode,rms_norm,rows={},dim={}{}]", norite::name(dtype), rows, dim,
                       chained ? ",chained" : "");
  }
};

std::vector<Size> sizes(std::string_view filter) {
  std::vector<Size> result;
  const auto add = [&](DType dtype, bool chained) {
    for (const auto& [rows, dim] :
         {std::pair{1, 2048}, {1, 4096}, {8, 4096}, {64, 4096}, {1, 16384}}) {
      const Size size{dtype, rows, dim, chained};
      if (size.name().find(filter) != std::string::npos) result.push_back(size);
    }
  };
  add(DType::bf16, false);
  add(DType::f32, false);
  add(DType::bf16, true);
  return result;
}

/// Norms that follow each other.
struct Norms {
  static Result<Norms> make(const Device& device, const Size& size) {
    Norms norms;
    NORITE_TRY_ASSIGN(norms.x, filled(device, size.dtype, {size.rows, size.dim}));
    NORITE_TRY_ASSIGN(norms.y, filled(device, size.dtype, {size.rows, size.dim}));
    NORITE_TRY_ASSIGN(norms.weight, filled(device, size.dtype, {size.dim}));
    return norms;
  }

  [[nodiscard]] Result<Graph> capture(const Device& device, int64_t launches, bool chained) const {
    return Graph::capture(device, [&](Encoder& encoder) -> Result<void> {
      for (int64_t i = 0; i < launches; ++i) {
        const bool back = chained && i % 2 == 1;
        NORITE_TRY(ops::rms_norm(
            encoder, {.x = back ? y : x, .weight = weight, .y = back ? x : y, .eps = 1e-6f}));
      }
      return {};
    });
  }

  Buffer x, y, weight;
};

Result<GraphMeasurement> measure(const Device& device, const Size& size, double min_time_s) {
  NORITE_TRY_ASSIGN(const Norms norms, Norms::make(device, size));
  NORITE_TRY_ASSIGN(Graph graph, norms.capture(device, kLaunches, size.chained));
  NORITE_TRY_ASSIGN(Graph longer, norms.capture(device, kLaunches + kMore, size.chained));
  GraphMeasurement result{.name = size.name(), .operations = kLaunches, .bytes = bytes_of(graph)};
  NORITE_TRY_ASSIGN(result.time_us_p50,
                    median_us(min_time_s / 2, kMinRepeats, [&] { return graph.replay(); }));
  NORITE_TRY_ASSIGN(const double longer_us,
                    median_us(min_time_s / 2, kMinRepeats, [&] { return longer.replay(); }));
  result.launch_us = (longer_us - result.time_us_p50) / static_cast<double>(kMore);
  return result;
}

}  // namespace

std::vector<std::string> decode_names(std::string_view filter) {
  std::vector<std::string> names;
  for (const Size& size : sizes(filter)) names.push_back(size.name());
  return names;
}

Result<std::vector<GraphMeasurement>> measure_decode(const Device& device, std::string_view filter,
                                                     double min_time_s) {
  std::vector<GraphMeasurement> results;
  for (const Size& size : sizes(filter)) {
    NORITE_TRY_ASSIGN(GraphMeasurement result, measure(device, size, min_time_s));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace norite::cli
