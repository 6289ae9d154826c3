// SPDX-License-Identifier: MIT
// A command list as tasks for several threads.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "backends/cpu/parallel.hpp"
#include "core/command_list.hpp"

namespace norite::cpu {

/// Commands that must follow each other are one task, in which no thread waits for another. A list
/// without anything side by side is a single task, and so is one whose commands touch so few bytes
/// that handing them over would take longer than it saves.
class TaskGraph {
 public:
  /// Places in the list are one order of many; bytes and fences decide.
  explicit TaskGraph(std::span<const core::Command> commands);

  using RunCommand = std::function<void(size_t command)>;  // does not throw
  /// Calls `run` for every command once all that it waits for have ended, from threads of the
  /// current TBB arena. Takes no memory. One run at a time.
  void run(const RunCommand& run);

  [[nodiscard]] size_t tasks() const noexcept { return tasks_.size(); }

 private:
  struct Task {
    std::vector<size_t> commands;
    std::vector<size_t> successors;
    uint32_t predecessors = 0;
  };
  struct Progress {
    std::atomic<uint32_t> unfinished = 0;  // predecessors
    HandOver ready;
  };

  void run_from(size_t task, const RunCommand& run, TaskStarter& starter);

  std::vector<Task> tasks_;  // the first is the one that all others wait for
  std::vector<Progress> progress_;
};

}  // namespace norite::cpu
