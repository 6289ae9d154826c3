// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>

#include "core/storage.hpp"
#include "graph/program.hpp"

namespace norite::graph {

namespace {

// Views of one storage that were written whole. A few are enough: what is not found counts as read
// before it was written, which only keeps the buffer as it is.
class Written {
 public:
  void add(const View& view) {
    if (count_ < views_.size()) views_[count_++] = &view;
  }
  [[nodiscard]] bool covers(const View& read) const {
    const core::Footprint wanted = core::footprint(read);
    return std::any_of(views_.begin(), views_.begin() + static_cast<std::ptrdiff_t>(count_),
                       [&](const View* view) {
                         const core::Footprint has = core::footprint(*view);
                         const bool one_run = has.pitch == 0;
                         return core::same_view(*view, read) ||
                                (one_run && has.begin <= wanted.begin && wanted.end <= has.end);
                       });
  }

 private:
  std::array<const View*, 8> views_ = {};
  size_t count_ = 0;
};

}  // namespace

Node::Node(core::Command its_command)
    : command(std::move(its_command)),
      builtin(core::find_builtin(command.pipeline.name())),
      accesses(core::declared_accesses(command.pipeline, command.arguments)) {
  command.bytes = 0;
  for (const core::Footprint& read : accesses.reads) command.bytes += read.bytes;
  for (const core::Footprint& write : accesses.writes) command.bytes += write.bytes;
}

Access Node::access(size_t position) const {
  return core::declared_access(builtin, command.pipeline.parameters(), position);
}

Uses find_uses(const Program& program) {
  Uses uses;
  std::unordered_map<const core::Storage*, Written> written;
  for (size_t user = 0; user < program.size(); ++user) {
    const Node& node = program[user];
    const core::Command& command = node.command;
    for (size_t i = 0; i < command.arguments.size(); ++i) {
      const View& view = command.arguments[i].view();
      if (!view) continue;
      const auto& storage = view.buffer().storage();
      Use& use = uses.try_emplace(storage.get(), Use{.first_user = user}).first->second;
      ++use.held;
      use.outside = storage.use_count() - use.held + (storage->foreign() ? 1 : 0);
      if (core::reads(node.access(i))) {
        ++use.reads;
        const auto before = written.find(storage.get());
        if (before == written.end() || !before->second.covers(view)) use.written_first = false;
      }
      if (core::writes(node.access(i))) ++use.writes;
    }
    if (node.builtin == nullptr) continue;
    for (size_t i = 0; i < command.arguments.size(); ++i) {
      const View& view = command.arguments[i].view();
      if (view && node.access(i) == Access::write) {
        written[view.buffer().storage().get()].add(view);
      }
    }
  }
  return uses;
}

void remove_unread(Program& program, GraphReport& report) {
  const Uses uses = find_uses(program);
  std::unordered_map<const core::Storage*, bool> read_later;
  std::vector<bool> unread(program.size());
  for (size_t i = program.size(); i-- > 0;) {
    const core::Accesses& accesses = program[i].accesses;
    const auto nobody_reads = [&](const core::Footprint& write) {
      return uses.at(write.storage).intermediate() && !read_later[write.storage];
    };
    unread[i] = program[i].builtin != nullptr &&
                std::all_of(accesses.writes.begin(), accesses.writes.end(), nobody_reads);
    if (unread[i]) continue;
    for (const core::Footprint& read : accesses.reads) read_later[read.storage] = true;
  }
  Program kept;
  kept.reserve(program.size());
  bool fence = false;
  for (size_t i = 0; i < program.size(); ++i) {
    fence = fence || program[i].command.fence_before;
    if (unread[i]) {
      report.removed.push_back(program[i].command.label);
      continue;
    }
    program[i].command.fence_before = std::exchange(fence, false) && !kept.empty();
    kept.push_back(std::move(program[i]));
  }
  program = std::move(kept);
}

}  // namespace norite::graph
