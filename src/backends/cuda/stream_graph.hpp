// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/cuda/constant_ring.hpp"
#include "core/command_list.hpp"

namespace norite::cuda {

/// A command list as a graph of CUDA's: the launches of a stream, captured, that one call puts on
/// another. It refers to the list's buffers and kernels, which must outlive its runs.
class StreamGraph {
 public:
  /// Captures on a stream of its own, so that nothing else can get in.
  [[nodiscard]] static Result<std::shared_ptr<StreamGraph>> make(
      const std::shared_ptr<Context>& context);
  ~StreamGraph();
  StreamGraph(const StreamGraph&) = delete;
  StreamGraph& operator=(const StreamGraph&) = delete;

  /// Becomes that list: the instance is updated where it has the same shape, else made anew. After
  /// an error there is none.
  [[nodiscard]] Result<void> become(const core::CommandList& list);
  /// nullptr where there is none.
  [[nodiscard]] CUgraphExec handle() const noexcept { return exec_; }

 private:
  explicit StreamGraph(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  [[nodiscard]] Result<void> put_on_stream(const core::CommandList& list);
  [[nodiscard]] Result<CUgraph> capture(const core::CommandList& list);
  [[nodiscard]] Result<void> instantiate(CUgraph graph);
  void drop();

  std::shared_ptr<Stream> stream_;
  // Constants that kernels take by pointer lie here as long as the graph.
  std::unique_ptr<ConstantRing> constants_;
  CUgraphExec exec_ = nullptr;
};

}  // namespace norite::cuda
