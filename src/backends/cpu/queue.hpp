// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace norite::cpu {

/// Runs jobs one after another in the order of arrival: the device's command queue. A job runs on
/// the queue's own thread (post) or on the caller's (run), which saves two thread switches; the
/// thread starts with the first post.
class Queue {
 public:
  using Job = std::function<void()>;  // does not throw

  Queue();
  /// Waits for every posted job, unless a job of this queue is what destroys it.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Returns at once.
  void post(Job job);
  /// Returns when the job, and so everything before it, has ended. Not from inside a job.
  void run(const Job& job);
  /// Whether the calling thread is running one of this queue's jobs.
  [[nodiscard]] bool running_here() const noexcept;

 private:
  struct State;

  // Shared with the thread: the last buffer of a dropped device may be freed by its own last job,
  // and then the queue is gone before the thread is.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace norite::cpu
