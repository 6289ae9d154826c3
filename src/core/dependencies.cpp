// SPDX-License-Identifier: MIT
#include "core/dependencies.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/hazard_history.hpp"

namespace norite::core {

namespace {

/// Nodes that have ended: all before a line, and some behind it.
struct Ended {
  void include(const Ended& other) {
    constexpr size_t kMost = 32;
    line = std::max(line, other.line);
    std::vector<size_t> all;
    std::ranges::set_union(nodes, other.nodes, std::back_inserter(all));
    all.erase(all.begin(), std::ranges::lower_bound(all, line));
    nodes = std::move(all);
    if (nodes.size() <= kMost) return;
    line = nodes.back() + 1;
    nodes.clear();
  }

  size_t line = 0;
  std::vector<size_t> nodes = {};  // in ascending order
};

class Finder {
 public:
  explicit Finder(size_t commands) {
    nodes_.reserve(commands);
    awaited_.reserve(commands);
  }

  void add(const Command& command, size_t index) {
    const Accesses accesses = declared_accesses(command.pipeline, command.arguments);
    if (command.fence_before) fence_.line = nodes_.size();
    Ended before = history_.before(accesses);
    before.include(fence_);
    std::vector<size_t> waits_for = std::move(before.nodes);
    if (before.line > 0) {
      const size_t join = join_behind(before.line);
      waits_for.erase(waits_for.begin(), std::ranges::lower_bound(waits_for, join));
      waits_for.insert(waits_for.begin(), join);
    }
    const size_t node = push({.command = index, .waits_for = std::move(waits_for)});
    history_.add(accesses, {.nodes = {node}});
  }

  std::vector<DependencyNode> take() && { return std::move(nodes_); }

 private:
  size_t push(DependencyNode node) {
    for (const size_t earlier : node.waits_for) awaited_[earlier] = true;
    nodes_.push_back(std::move(node));
    awaited_.push_back(false);
    return nodes_.size() - 1;
  }

  /// The first join that waits for all nodes before the line.
  size_t join_behind(size_t line) {
    const auto found = std::ranges::lower_bound(joins_, line);
    if (found != joins_.end()) return *found;
    DependencyNode join;
    for (size_t i = joins_.empty() ? 0 : joins_.back(); i < nodes_.size(); ++i) {
      if (!awaited_[i]) join.waits_for.push_back(i);
    }
    joins_.push_back(push(std::move(join)));
    return joins_.back();
  }

  std::vector<DependencyNode> nodes_;
  std::vector<bool> awaited_;  // of each node: whether another waits for it
  std::vector<size_t> joins_;
  HazardHistory<Ended> history_;
  Ended fence_;
};

}  // namespace

std::vector<DependencyNode> find_dependencies(std::span<const Command> commands) {
  Finder finder(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) finder.add(commands[i], i);
  return std::move(finder).take();
}

}  // namespace norite::core
