// SPDX-License-Identifier: MIT
#include "backends/cuda/repeated_lists.hpp"

#include <algorithm>

#include "backends/cuda/launch.hpp"
#include "backends/cuda/text_kernel.hpp"

namespace norite::cuda {

namespace {

constexpr size_t kMostEntries = 32;
constexpr size_t kMostCommands = 4096;

/// Whether the GPU is through with a kernel before the host has launched the next. Where kernels
/// move more than a GPU does meanwhile, it need not wait until the whole list is captured.
bool is_ahead_of_host(const core::CommandList& list) {
  constexpr int64_t kMostBytes = int64_t{8} << 20;  // of a command, on average
  int64_t bytes = 0;
  for (const core::Command& command : list.commands) bytes += command.bytes;
  return bytes <= kMostBytes * static_cast<int64_t>(list.commands.size());
}

/// Constants that a kernel takes by pointer are copied on the stream, each time to another place.
bool copies_constants(const KernelForm& form, const core::Command& command) {
  return std::ranges::any_of(form.buffers, [&](const msl::NvrtcParameter& buffer) {
    return !command.arguments[buffer.index].view() && !form.by_value(buffer);
  });
}

void add_grid(const Grid& grid, std::vector<int64_t>& to) {
  const auto add = [&](const auto& values) { to.insert(to.end(), values.begin(), values.end()); };
  add(grid.groups);
  add(grid.threads);
  add(grid.total);
  add(grid.threadgroup_memory);
}

}  // namespace

Result<RepeatedLists::Shape> RepeatedLists::shape_of(const core::CommandList& list) {
  Shape shape;
  for (const core::Command& command : list.commands) {
    const auto& kernel = static_cast<const TextKernel&>(*command.pipeline.state());
    NORITE_TRY_ASSIGN(const KernelForm* const form, kernel.form_for(command));
    if (copies_constants(*form, command)) return fail(Code::unsupported, "constants are copied");
    shape.modules.push_back(form->module);
    add_grid(command.grid, shape.grids);
  }
  return shape;
}

RepeatedLists::Entry& RepeatedLists::entry_of(Shape shape) {
  auto found = std::ranges::find(entries_, shape, &Entry::shape);
  if (found != entries_.end()) return *found;
  if (entries_.size() == kMostEntries) drop_half();
  return entries_.emplace_back(std::move(shape));
}

void RepeatedLists::drop_half() {
  std::ranges::sort(entries_, std::ranges::greater{}, &Entry::used);
  (void)stream_->synchronise();  // a lost device runs none of them
  entries_.erase(entries_.begin() + kMostEntries / 2, entries_.end());
}

Result<void> RepeatedLists::renew(GraphInstance& instance, CUgraph graph) {
  if (instance.update(graph)) return {};
  if (instance.handle() != nullptr) NORITE_TRY(stream_->synchronise());
  return instance.make(graph);
}

Result<void> RepeatedLists::become(Entry& entry, const core::CommandList& list,
                                   ConstantRing& constants) {
  if (capturing_ == nullptr) {
    NORITE_TRY_ASSIGN(capturing_, Stream::create(stream_->shared_context()));
  }
  NORITE_TRY_ASSIGN(CUgraph graph, capture(*capturing_, [&]() -> Result<void> {
                      for (const core::Command& command : list.commands) {
                        NORITE_TRY(launch(*capturing_, constants, command));
                      }
                      return {};
                    }));
  if (entry.instance == nullptr) {
    entry.instance = std::make_unique<GraphInstance>(stream_->shared_context());
  }
  auto renewed = renew(*entry.instance, graph);
  stream_->driver().cuGraphDestroy(graph);
  return renewed;
}

CUgraphExec RepeatedLists::instance_of(const core::CommandList& list, ConstantRing& constants) {
  if (list.commands.empty() || list.commands.size() > kMostCommands ||
      list.timing != Timing::none || !is_ahead_of_host(list)) {
    return nullptr;
  }
  auto shape = shape_of(list);
  if (!shape) return nullptr;
  Entry& entry = entry_of(*std::move(shape));
  const bool first = entry.used == 0;
  entry.used = ++count_;
  if (first || entry.refused) return nullptr;
  if (become(entry, list, constants)) return entry.instance->handle();
  entry.refused = true;
  return nullptr;
}

}  // namespace norite::cuda
