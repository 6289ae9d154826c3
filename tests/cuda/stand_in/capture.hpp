// SPDX-License-Identifier: MIT
// What the stand-in makes of captures, and how it launches graphs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "backends/cuda/cuda_api.hpp"
#include "cuda/stand_in/settings.hpp"

namespace norite::test {

using Nodes = std::vector<StandInNode>;
using Work = std::function<cuda::CUresult()>;

/// All captures under way. A stream is part of one at the most.
class Captures {
 public:
  void begin(cuda::CUstream origin);
  /// The graph; nothing where not all that was captured has come together on the origin.
  std::optional<Nodes> end(cuda::CUstream origin);

  /// What is put on a stream is done at once, or whenever the graph is launched.
  cuda::CUresult put(cuda::CUstream stream, bool copy, Work work);
  void record(cuda::CUevent event, cuda::CUstream stream);
  void wait(cuda::CUstream stream, cuda::CUevent event);

 private:
  /// For each stream that is part of it, and each event recorded there, the nodes that what comes
  /// next waits for.
  struct Capture {
    std::map<cuda::CUstream, std::set<size_t>> streams;
    std::map<cuda::CUevent, std::set<size_t>> events;
    Nodes nodes;
  };

  std::map<cuda::CUstream, Capture> by_origin_;
};

/// Whether an instance made of one graph can become that of another.
bool same_shape(const Nodes& a, const Nodes& b);

/// In any order in which each node comes after those that it waits for.
cuda::CUresult launch(const Nodes& nodes);

}  // namespace norite::test
