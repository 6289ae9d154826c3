// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/command_list.hpp"
#include "norite/encoder.hpp"
#include "norite/error.hpp"

namespace norite::core {

/// How one submit ended, for whoever waits for it.
class Completion {
 public:
  /// `commands` have held their buffers until now, and let go of them before anyone hears of the
  /// end. Someone who waits already does that: often the one who recorded them, in whose caches
  /// the memory then stays for the next recording.
  void complete(Result<void> result, std::vector<DispatchTiming> timings = {},
                std::vector<Command> commands = {});
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] bool done() const;
  [[nodiscard]] std::vector<DispatchTiming> timings() const;

 private:
  enum class Stage : uint8_t { running, ended, releasing, done };
  void release(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Stage stage_ = Stage::running;
  int waiting_ = 0;  // threads
  Result<void> result_;
  std::vector<DispatchTiming> timings_;
  std::vector<Command> commands_;
};

}  // namespace norite::core
