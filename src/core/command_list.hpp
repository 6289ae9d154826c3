// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "norite/encoder.hpp"

namespace norite::core {

/// One recorded dispatch. It holds its buffers until it has run.
struct Command {
  std::string label;
  Pipeline pipeline;
  std::vector<Argument> arguments;
  Grid grid;
  /// Everything before must have ended. Commands between two barriers are independent.
  bool barrier_before = false;
  bool fence_before = false;  // the barrier is one that the user asked for
  int64_t bytes = 0;          // that its views read and write
};

struct CommandList {
  std::vector<Command> commands;
  Timing timing = Timing::none;
  /// The bytes that commands touch, and fences, are all that orders them: their places in the list
  /// are one order of many.
  bool reordered = false;
};

/// The entry of Timing::whole.
[[nodiscard]] DispatchTiming whole_timing(double duration_us);

/// "rms_norm", or "one of rms_norm, sum_partials": a GPU does not always tell which one failed.
[[nodiscard]] std::string describe_work(std::span<const Command> commands);

}  // namespace norite::core
