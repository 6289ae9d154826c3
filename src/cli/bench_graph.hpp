// SPDX-License-Identifier: MIT
#pragma once

#include "cli/json_output.hpp"

#include <norite/graph.hpp>

#include <vector>

namespace norite::cli {

/// One way of running the same operations.
struct GraphMeasurement {
  std::string name;
  int64_t operations = 0;
  int64_t bytes = 0;       ///< that they read and write
  double time_us_p50 = 0;  ///< of the host, from the call until all has ended
  double kernels_us = 0;   ///< of the operations themselves
  /// What the run takes beyond its kernels, for each operation.
  [[nodiscard]] double overhead_us() const {
    return (time_us_p50 - kernels_us) / static_cast<double>(operations);
  }
};

/// Whether the filter asks for graphs too.
bool wants_graphs(std::string_view filter);
/// A block of a model eagerly, replayed, and replayed after it was optimised.
Result<std::vector<GraphMeasurement>> measure_graphs(const Device& device, double min_time_s);
void print_graphs(const std::vector<GraphMeasurement>& measurements);
Json to_json(const std::vector<GraphMeasurement>& measurements);

}  // namespace norite::cli
