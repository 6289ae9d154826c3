// SPDX-License-Identifier: MIT
#include "backends/cuda/stream_graph.hpp"

#include <utility>

#include "backends/cuda/launch.hpp"
#include "backends/cuda/text_kernel.hpp"

namespace norite::cuda {

Result<std::shared_ptr<StreamGraph>> StreamGraph::make(const std::shared_ptr<Context>& context) {
  NORITE_TRY_ASSIGN(auto stream, Stream::create(context));
  return std::shared_ptr<StreamGraph>(new StreamGraph(std::move(stream)));
}

StreamGraph::~StreamGraph() {
  const Current current(stream_->context());
  drop();
}

void StreamGraph::drop() {
  if (exec_ != nullptr) stream_->driver().cuGraphExecDestroy(std::exchange(exec_, nullptr));
}

Result<void> StreamGraph::put_on_stream(const core::CommandList& list) {
  for (const core::Command& command : list.commands) {
    NORITE_TRY(launch(*stream_, *constants_, command));
  }
  return {};
}

Result<CUgraph> StreamGraph::capture(const core::CommandList& list) {
  const Driver& driver = stream_->driver();
  // Kernels that are still to be compiled are so before the capture, which forbids much.
  for (const core::Command& command : list.commands) {
    NORITE_TRY(static_cast<const TextKernel&>(*command.pipeline.state()).form_for(command));
  }
  constants_ = std::make_unique<ConstantRing>(stream_);
  NORITE_TRY(stream_->context().check(
      driver.cuStreamBeginCapture_v2(stream_->handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
      "beginning a capture"));
  auto put = put_on_stream(list);
  CUgraph graph = nullptr;
  auto ended = stream_->context().check(driver.cuStreamEndCapture(stream_->handle(), &graph),
                                        "ending a capture");
  if (put && ended) return graph;
  if (graph != nullptr) driver.cuGraphDestroy(graph);
  return tl::unexpected<Error>(put ? std::move(ended).error() : std::move(put).error());
}

Result<void> StreamGraph::instantiate(CUgraph graph) {
  const Driver& driver = stream_->driver();
  CUgraphExecUpdateResultInfo info = {};
  if (exec_ != nullptr && driver.cuGraphExecUpdate_v2(exec_, graph, &info) == CUDA_SUCCESS) {
    return {};
  }
  drop();
  return stream_->context().check(driver.cuGraphInstantiateWithFlags(&exec_, graph, 0),
                                  "making a graph");
}

Result<void> StreamGraph::become(const core::CommandList& list) {
  auto graph = capture(list);
  if (!graph) {
    drop();
    return tl::unexpected<Error>(std::move(graph).error());
  }
  auto made = instantiate(*graph);
  stream_->driver().cuGraphDestroy(*graph);
  return made;
}

}  // namespace norite::cuda
