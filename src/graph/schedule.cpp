// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "core/hazard_history.hpp"
#include "graph/program.hpp"

namespace norite::graph {

namespace {

/// How many stages have passed.
struct Passed {
  int64_t stages = 0;
  void include(const Passed& other) { stages = std::max(stages, other.stages); }
};

class Stages {
 public:
  /// The first stage that a node may run in.
  int64_t add(const Node& node) {
    if (node.command.fence_before) fence_ = last_;
    Passed before = history_.before(node.accesses);
    before.include(fence_);
    const Passed after{before.stages + 1};
    history_.add(node.accesses, after);
    last_.include(after);
    return before.stages;
  }

 private:
  core::HazardHistory<Passed> history_;
  Passed fence_;  // before what comes next
  Passed last_;
};

/// Fences lie between stages: whichever node of a stage was the first after one, in the new order
/// it is the stage's first.
void move_fence(size_t first_of_stage, Program& ordered) {
  if (!std::exchange(ordered.back().command.fence_before, false)) return;
  ordered[first_of_stage].command.fence_before = true;
}

}  // namespace

void schedule(Program& program, GraphReport& report) {
  Stages stages;
  std::vector<size_t> order(program.size());
  for (size_t i = 0; i < program.size(); ++i) {
    program[i].stage = stages.add(program[i]);
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return program[a].stage != program[b].stage ? program[a].stage < program[b].stage : a < b;
  });
  Program ordered;
  ordered.reserve(program.size());
  size_t first_of_stage = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    Node& node = program[order[i]];
    node.command.barrier_before = i > 0 && node.stage != ordered.back().stage;
    if (node.command.barrier_before) first_of_stage = i;
    if (i < order[i]) ++report.moved;
    ordered.push_back(std::move(node));
    move_fence(first_of_stage, ordered);
  }
  program = std::move(ordered);
}

}  // namespace norite::graph
