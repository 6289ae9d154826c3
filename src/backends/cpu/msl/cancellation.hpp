// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace norite::cpu::msl {

/// Whether a dispatch should end before its kernels do. Kernels look at one word of the whole
/// process, `cancelling`, in every loop; only while that is not zero do they ask any further.
class Cancellation {
 public:
  Cancellation() = default;
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void request() noexcept;
  [[nodiscard]] bool requested() const noexcept {
    return requested_.load(std::memory_order_relaxed);
  }

  /// How many cancelled dispatches of the process have not ended yet.
  static const std::atomic<unsigned>& cancelling() noexcept;

 private:
  std::atomic<bool> requested_ = false;
};

/// Requests cancellation when the time is over, from a thread of its own; none for a limit of zero.
class TimeLimit {
 public:
  TimeLimit(std::chrono::milliseconds limit, Cancellation& cancellation);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread watcher_;
};

}  // namespace norite::cpu::msl
