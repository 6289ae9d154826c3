// SPDX-License-Identifier: MIT
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/task_graph.hpp"
#include "backends/cpu/team.hpp"
#include "core/command_list.hpp"
#include "norite/encoder.hpp"

namespace norite::cpu {

/// Runs command lists on a fixed number of threads.
class Executor {
 public:
  explicit Executor(int threads);

  struct Outcome {
    Result<void> result;  // the first error in recorded order, naming its dispatch
    std::vector<DispatchTiming> timings;
  };

  /// Runs the whole list. After a failed dispatch, nothing behind the next barrier is run.
  Outcome run(const core::CommandList& list);
  /// Runs a list as tasks that were made of its commands. After a failed dispatch, nothing that
  /// waits for it is run, nor anything else behind it in the list that has not begun.
  [[nodiscard]] Result<void> run(std::span<const core::Command> commands, TaskGraph& tasks);
  [[nodiscard]] Team& team() noexcept { return team_; }
  [[nodiscard]] int threads() const noexcept { return threads_; }
  /// Whether the calling thread is inside one of this executor's kernels.
  [[nodiscard]] bool running_here() const noexcept;

 private:
  // TBB caps its threads at the number of cores; a larger device has to raise that.
  std::optional<oneapi::tbb::global_control> more_threads_;
  oneapi::tbb::task_arena arena_;
  Team team_;
  int threads_;
};

}  // namespace norite::cpu
