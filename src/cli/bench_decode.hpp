// SPDX-License-Identifier: MIT
#pragma once

#include "cli/bench_graph.hpp"

namespace norite::cli {

/// The sizes of a decoder's norms whose names contain the filter.
std::vector<std::string> decode_names(std::string_view filter);
/// Graphs of norms that follow each other, one for each of those.
Result<std::vector<GraphMeasurement>> measure_decode(const Device& device, std::string_view filter,
                                                     double min_time_s);

}  // namespace norite::cli
