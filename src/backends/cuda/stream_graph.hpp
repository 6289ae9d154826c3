// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/branches.hpp"
#include "backends/cuda/constant_ring.hpp"
#include "backends/cuda/events.hpp"
#include "backends/cuda/graph_instance.hpp"
#include "core/command_list.hpp"

namespace norite::cuda {

/// A command list as a graph of CUDA's: launches on a few streams, captured, that one call puts on
/// another. It refers to the list's buffers and kernels, which must outlive its runs.
class StreamGraph {
 public:
  /// Captures on streams of its own, so that nothing else can get in.
  [[nodiscard]] static Result<std::shared_ptr<StreamGraph>> make(
      const std::shared_ptr<Context>& context);

  /// Becomes that list: the instance is updated where it has the same shape, else made anew. After
  /// an error there is none.
  [[nodiscard]] Result<void> become(const core::CommandList& list);
  /// nullptr where there is none.
  [[nodiscard]] CUgraphExec handle() const noexcept { return instance_.handle(); }

 private:
  StreamGraph(std::shared_ptr<Context> context, const std::shared_ptr<Stream>& origin);
  [[nodiscard]] Result<Branches> plan(const core::CommandList& list);
  [[nodiscard]] Result<void> put_on_streams(const core::CommandList& list,
                                            const Branches& branches);
  /// An event that stands for all that is on a stream; it stays until the capture has ended.
  [[nodiscard]] Result<CUevent> mark(const Stream& stream);
  [[nodiscard]] Result<CUgraph> graph_of(const core::CommandList& list);

  std::shared_ptr<Context> context_;
  std::vector<std::shared_ptr<Stream>> streams_;  // one for each branch; the capture begins on [0]
  Events events_;
  std::vector<CUevent> marks_;
  // Constants that kernels take by pointer lie here as long as the graph.
  std::unique_ptr<ConstantRing> constants_;
  GraphInstance instance_;
};

}  // namespace norite::cuda
