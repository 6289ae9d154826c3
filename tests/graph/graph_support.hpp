// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>

#include "host_values.hpp"

namespace norite::test {

using Recorder = std::function<Result<void>(Encoder&)>;

/// Buffers of one dtype, with values of their own.
struct Buffers {
  Buffers(const Device& on, DType of) : device(on), dtype(of) {}

  View fill(const Shape& shape) {
    return upload(device, dtype, shape, pattern(shape.count().value_or(0), ++seed));
  }
  [[nodiscard]] View temporary(const Shape& shape) const {
    return must(device.empty(dtype, shape));
  }

  Device device;
  DType dtype;
  uint32_t seed = 0;
};

inline std::pair<Graph, GraphReport> optimised(const Device& device, const Recorder& record) {
  Graph graph = must(Graph::capture(device, record));
  GraphReport report = must(graph.optimise());
  return {std::move(graph), std::move(report)};
}

}  // namespace norite::test
