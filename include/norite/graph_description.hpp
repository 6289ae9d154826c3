// SPDX-License-Identifier: MIT
// A graph as plain data, to look at and to keep in a file.
#pragma once

#include <norite/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace norite {

struct GraphDescription {
  /// One operand of an operation.
  struct Operand {
    std::string name;    ///< as the kernel calls it
    std::string view;    ///< "bf16 [1, 2048]"
    int64_t buffer = 0;  ///< buffers are numbered in order of their first use
  };
  struct Operation {
    std::string name;
    std::string kernel;
    std::vector<Operand> reads = {}, writes = {};
    std::vector<int64_t> after = {};  ///< operations that must end before this one begins
    int64_t stage = 0;                ///< operations of one stage run side by side
    int64_t bytes = 0;                ///< that it reads and writes
  };

  std::string device;
  std::vector<Operation> operations = {};
};

/// Graphviz text: operations as boxes, stages as ranks, an arrow for each dependency.
NORITE_API std::string to_dot(const GraphDescription& graph);
NORITE_API std::string to_json(const GraphDescription& graph);
/// What to_json wrote. Errors: bad_file, naming the field.
[[nodiscard]] NORITE_API Result<GraphDescription> graph_from_json(std::string_view text);

}  // namespace norite
