// SPDX-License-Identifier: MIT
// What `norite bench` makes graphs of, to compare them with eager execution.
#pragma once

#include <norite/graph.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace norite::cli {

struct GraphProgram {
  std::string name;  ///< "graph[bf16,gemma_block,batch=1": how it runs comes behind
  size_t min_repeats;
  bool counts_launches;  ///< it is so short that recording and launching show
  std::function<Result<Graph::Record>(const Device&)> prepare;  ///< makes its buffers
};

/// Those whose names contain the filter: a block of a model for one token and for many, chains side
/// by side, and what single rules of fusion are about, beyond the caches.
std::vector<GraphProgram> graph_programs(const Device& device, std::string_view filter);

}  // namespace norite::cli
