// SPDX-License-Identifier: MIT
#include "backends/cuda/graph_instance.hpp"

#include <utility>

namespace norite::cuda {

Result<CUgraph> capture(const Stream& origin, const std::function<Result<void>()>& put) {
  const Driver& driver = origin.driver();
  Context& context = origin.context();
  NORITE_TRY(
      context.check(driver.cuStreamBeginCapture_v2(origin.handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
                    "beginning a capture"));
  auto done = put();
  CUgraph graph = nullptr;
  auto ended =
      context.check(driver.cuStreamEndCapture(origin.handle(), &graph), "ending a capture");
  if (done && ended) return graph;
  if (graph != nullptr) driver.cuGraphDestroy(graph);
  return tl::unexpected<Error>(done ? std::move(ended).error() : std::move(done).error());
}

bool GraphInstance::update(CUgraph graph) {
  CUgraphExecUpdateResultInfo info = {};
  return exec_ != nullptr &&
         context_->driver().cuGraphExecUpdate_v2(exec_, graph, &info) == CUDA_SUCCESS;
}

Result<void> GraphInstance::make(CUgraph graph) {
  drop();
  return context_->check(context_->driver().cuGraphInstantiateWithFlags(&exec_, graph, 0),
                         "making a graph");
}

void GraphInstance::drop() {
  if (exec_ == nullptr) return;
  const Current current(*context_);
  context_->driver().cuGraphExecDestroy(std::exchange(exec_, nullptr));
}

}  // namespace norite::cuda
