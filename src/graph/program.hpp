// SPDX-License-Identifier: MIT
// A graph while it is being rewritten.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/builtin_kernels.hpp"
#include "core/command_list.hpp"
#include "core/hazards.hpp"
#include "norite/graph.hpp"

namespace norite::graph {

struct Node {
  explicit Node(core::Command its_command);

  /// What the kernel does with an argument: built-in kernels declare it, whatever their text
  /// allows.
  [[nodiscard]] Access access(size_t position) const;

  core::Command command;
  const core::BuiltinKernel* builtin;  // nullptr for a kernel of the user's
  core::Accesses accesses;
  int64_t stage = 0;
};

/// Nodes in the order of recording; passes leave an equivalent order behind.
using Program = std::vector<Node>;

/// What the graph does with one storage.
struct Use {
  size_t first_user = 0;          // a node
  int64_t reads = 0, writes = 0;  // arguments, over all nodes
  int64_t held = 0;               // references that the nodes hold
  int64_t outside = 0;            // references that others hold
  bool written_first = true;      // all that is read was written by a built-in kernel before

  /// Nobody outside can see it, and it carries nothing from one replay to the next.
  [[nodiscard]] bool intermediate() const noexcept {
    return outside == 0 && written_first && writes > 0;
  }
};

using Uses = std::unordered_map<const core::Storage*, Use>;

Uses find_uses(const Program& program);

/// Operations of built-in kernels whose results are intermediates that nobody reads.
void remove_unread(Program& program, GraphReport& report);
/// Replaces what the rules of fusion.cpp name.
void fuse(const Device& device, Program& program, GraphReport& report);
/// Orders nodes by stages: each stage waits for the one before, its nodes for nothing else.
void schedule(Program& program, GraphReport& report);
/// Moves the intermediates of nodes, whose stages are known, into one allocation. Reordered nodes
/// may run ahead of their stage.
void plan_memory(const Device& device, Program& program, bool reordered, GraphReport& report);

}  // namespace norite::graph
