// SPDX-License-Identifier: MIT
#include "backends/cuda/stream_graph.hpp"

#include <utility>

#include "backends/cuda/launch.hpp"
#include "backends/cuda/text_kernel.hpp"

namespace norite::cuda {

namespace {

Result<void> wait(const Stream& stream, CUevent event) {
  return stream.context().check(stream.driver().cuStreamWaitEvent(stream.handle(), event, 0),
                                "waiting for another branch");
}

}  // namespace

StreamGraph::StreamGraph(std::shared_ptr<Context> context, const std::shared_ptr<Stream>& origin)
    : context_(std::move(context)),
      streams_{origin},
      events_(origin, CU_EVENT_DISABLE_TIMING),
      instance_(context_) {}

Result<std::shared_ptr<StreamGraph>> StreamGraph::make(const std::shared_ptr<Context>& context) {
  NORITE_TRY_ASSIGN(const auto origin, Stream::create(context));
  return std::shared_ptr<StreamGraph>(new StreamGraph(context, origin));
}

// Kernels that are still to be compiled are so here, before the capture, which forbids much.
Result<Branches> StreamGraph::plan(const core::CommandList& list) {
  std::vector<bool> cooperative;
  for (const core::Command& command : list.commands) {
    const auto& kernel = static_cast<const TextKernel&>(*command.pipeline.state());
    NORITE_TRY_ASSIGN(const KernelForm* const form, kernel.form_for(command));
    cooperative.push_back(form->cooperative);
  }
  Branches branches = plan_branches(list, cooperative);
  while (streams_.size() < branches.count) {
    NORITE_TRY_ASSIGN(auto stream, Stream::create(context_));
    streams_.push_back(std::move(stream));
  }
  return branches;
}

Result<CUevent> StreamGraph::mark(const Stream& stream) {
  NORITE_TRY_ASSIGN(CUevent event, events_.record(stream));
  marks_.push_back(event);
  return event;
}

Result<void> StreamGraph::put_on_streams(const core::CommandList& list, const Branches& branches) {
  // A stream is part of the capture once it has waited for one that is.
  NORITE_TRY_ASSIGN(CUevent begin, mark(*streams_[0]));
  for (size_t i = 1; i < branches.count; ++i) NORITE_TRY(wait(*streams_[i], begin));
  std::vector<CUevent> ends(list.commands.size());
  for (size_t i = 0; i < list.commands.size(); ++i) {
    const Branches::Place& place = branches.places[i];
    const Stream& stream = *streams_[place.branch];
    for (const size_t earlier : place.waits_for) NORITE_TRY(wait(stream, ends[earlier]));
    NORITE_TRY(launch(stream, *constants_, list.commands[i]));
    if (place.awaited) {
      NORITE_TRY_ASSIGN(ends[i], mark(stream));
    }
  }
  for (size_t i = 1; i < branches.count; ++i) {
    NORITE_TRY_ASSIGN(CUevent end, mark(*streams_[i]));
    NORITE_TRY(wait(*streams_[0], end));
  }
  return {};
}

Result<CUgraph> StreamGraph::graph_of(const core::CommandList& list) {
  NORITE_TRY_ASSIGN(const Branches branches, plan(list));
  constants_ = std::make_unique<ConstantRing>(streams_[0]);
  auto graph = capture(*streams_[0], [&] { return put_on_streams(list, branches); });
  for (CUevent event : std::exchange(marks_, {})) events_.give_back(event);
  return graph;
}

Result<void> StreamGraph::become(const core::CommandList& list) {
  auto graph = graph_of(list);
  if (!graph) {
    instance_.drop();
    return tl::unexpected<Error>(std::move(graph).error());
  }
  const bool updated = instance_.update(*graph);
  auto made = updated ? Result<void>() : instance_.make(*graph);
  context_->driver().cuGraphDestroy(*graph);
  return made;
}

}  // namespace norite::cuda
