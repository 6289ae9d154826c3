// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace norite::core {

/// A thread that waits for the ends of work, in its order, and tells whoever wants to know. It
/// starts with the first job.
class Waiter {
 public:
  using Job = std::function<void()>;  // does not throw

  Waiter();
  /// Waits for every job, unless a job is what destroys it.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  void post(Job job);
  /// Returns when every job posted so far has ended; at once inside of a job.
  void drain();

 private:
  struct State;

  // Shared with the thread: a job may free the last buffer of a dropped device, and the waiter with
  // it, before the thread ends.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace norite::core
