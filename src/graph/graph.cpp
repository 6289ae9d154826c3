// SPDX-License-Identifier: MIT
#include "norite/graph.hpp"

#include <fmt/format.h>

#include <atomic>

#include "core/device_state.hpp"
#include "core/recording.hpp"
#include "graph/describe.hpp"
#include "graph/program.hpp"
#include "graph/rebind.hpp"

namespace norite {

struct Graph::Impl {
  explicit Impl(Device its_device) : device(std::move(its_device)) {}

  Device device;
  core::CommandList list;
  core::ReplayState replay_state;
  bool optimised = false;
  std::atomic_flag busy;
};

namespace {

thread_local bool capturing = false;

/// Ends the capture however `record` leaves.
class CaptureScope {
 public:
  CaptureScope() { capturing = true; }
  ~CaptureScope() {
    session_->ended = true;
    capturing = false;
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  [[nodiscard]] const std::shared_ptr<core::CaptureSession>& session() const { return session_; }

 private:
  std::shared_ptr<core::CaptureSession> session_ = std::make_shared<core::CaptureSession>();
};

/// Keeps other threads out while a call lasts.
class Busy {
 public:
  explicit Busy(std::atomic_flag& flag) : flag_(flag), mine_(!flag.test_and_set()) {}
  ~Busy() {
    if (mine_) flag_.clear();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  [[nodiscard]] Result<void> check(std::string_view call) const {
    if (mine_) return {};
    return fail(Code::failed_precondition,
                fmt::format("graph {}: another thread is using the graph", call));
  }

 private:
  std::atomic_flag& flag_;
  bool mine_;
};

int64_t count_barriers(const std::vector<core::Command>& commands) {
  int64_t barriers = 0;
  for (const core::Command& command : commands) barriers += command.barrier_before ? 1 : 0;
  return barriers;
}

int64_t count_bytes(const std::vector<core::Command>& commands) {
  int64_t bytes = 0;
  for (const core::Command& command : commands) bytes += command.bytes;
  return bytes;
}

/// Barriers where hazards need them, for nodes in recorded order.
void place_barriers(graph::Program& program) {
  core::HazardTracker hazards;
  for (graph::Node& node : program) {
    if (node.command.fence_before) hazards.fence();
    node.command.barrier_before = hazards.add(node.accesses) || node.command.fence_before;
  }
  int64_t stage = 0;
  for (graph::Node& node : program) {
    stage += node.command.barrier_before ? 1 : 0;
    node.stage = stage;
  }
}

}  // namespace

Graph::Graph(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Result<Graph> Graph::capture(const Device& device, const Record& record) {
  if (capturing) {
    return fail(Code::failed_precondition, "graph capture: this thread is inside another capture");
  }
  if (!record) {
    return fail(Code::invalid_argument,
                "graph capture: there is no function, expected one to call");
  }
  NORITE_TRY(device.state()->check_open("graph capture"));
  auto impl = std::make_unique<Impl>(device);
  const CaptureScope scope;
  Encoder encoder = core::Recording::begin(device, scope.session());
  NORITE_TRY(record(encoder));
  NORITE_TRY_ASSIGN(impl->list.commands, core::Recording::take(encoder));
  return Graph(std::move(impl));
}

Result<GraphReport> Graph::optimise(const GraphOptions& options) {
  const Busy busy(impl_->busy);
  NORITE_TRY(busy.check("optimise"));
  if (std::exchange(impl_->optimised, true)) {
    return fail(Code::failed_precondition, "graph optimise: the graph is optimised already");
  }
  impl_->replay_state.changed = true;
  std::vector<core::Command>& commands = impl_->list.commands;
  GraphReport report{.operations_before = static_cast<int64_t>(commands.size()),
                     .barriers_before = count_barriers(commands)};
  graph::Program program;
  program.reserve(commands.size());
  for (core::Command& command : commands) {
    report.bytes_before += program.emplace_back(std::move(command)).command.bytes;
  }
  commands.clear();
  if (options.fuse) {
    graph::remove_unread(program, report);
    graph::fuse(impl_->device, program, report);
  }
  if (options.reorder) {
    graph::schedule(program, report);
    impl_->list.reordered = true;
  } else {
    place_barriers(program);
  }
  if (options.plan_memory) {
    graph::plan_memory(impl_->device, program, options.reorder, report);
  }
  for (graph::Node& node : program) commands.push_back(std::move(node.command));
  report.operations_after = static_cast<int64_t>(commands.size());
  report.barriers_after = count_barriers(commands);
  report.bytes_after = count_bytes(commands);
  return report;
}

Result<void> Graph::replay() {
  const Busy busy(impl_->busy);
  NORITE_TRY(busy.check("replay"));
  NORITE_TRY(impl_->device.state()->check_open("graph replay"));
  return impl_->device.state()->backend().replay(impl_->list, impl_->replay_state);
}

Result<void> Graph::rebind(const View& view, const View& other) {
  const Busy busy(impl_->busy);
  NORITE_TRY(busy.check("rebind"));
  impl_->replay_state.changed = true;
  return graph::rebind(impl_->device, impl_->list.commands, view, other);
}

GraphDescription Graph::describe() const {
  return graph::describe(impl_->device, impl_->list.commands);
}

}  // namespace norite
