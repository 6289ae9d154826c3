// SPDX-License-Identifier: MIT
#pragma once

#include "cli/json_output.hpp"

#include <norite/graph.hpp>

#include <optional>
#include <vector>

namespace norite::cli {

/// One way of running the same operations.
struct GraphMeasurement {
  std::string name;
  int64_t operations = 0;
  int64_t bytes = 0;       ///< that they read and write
  double time_us_p50 = 0;  ///< of the host, from the call until all has ended
  double kernels_us = 0;   ///< of the operations themselves
  double speedup = 0;      ///< over eager execution, and what the saved bytes promise of it
  double promised = 0;
  /// Of one operation among others like it, without what a replay costs once.
  std::optional<double> launch_us = {};
  /// What the run takes beyond its kernels, for each operation. None where they were not timed, or
  /// took longer one by one, as they are timed, than all of them did together.
  [[nodiscard]] std::optional<double> overhead_us() const {
    if (kernels_us <= 0 || time_us_p50 < kernels_us) return std::nullopt;
    return (time_us_p50 - kernels_us) / static_cast<double>(operations);
  }
};

/// Whether the filter asks for graphs too.
bool wants_graphs(const Device& device, std::string_view filter);
/// Those graphs whose names contain the filter: programs eagerly, replayed, and replayed after
/// they were optimised; norms of a decoder, one after the other.
Result<std::vector<GraphMeasurement>> measure_graphs(const Device& device, std::string_view filter,
                                                     double min_time_s);
/// That all operations of the graph read and write.
int64_t bytes_of(const Graph& graph);
void print_graphs(const std::vector<GraphMeasurement>& measurements);
Json to_json(const std::vector<GraphMeasurement>& measurements);

}  // namespace norite::cli
