// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>

#include "backends/metal/health.hpp"
#include "backends/metal/residency.hpp"
#include "core/command_list.hpp"
#include "core/completion.hpp"
#include "core/waiter.hpp"

namespace norite::metal {

/// Turns command lists into command buffers, several of which are under way at a time: while the
/// GPU works on one, the next is written. May be shared between threads.
///
/// Ends are waited for by a thread of our own rather than announced by Metal's completion handlers:
/// those come on threads of Metal's, on which nothing of ours, the last buffer of a device least of
/// all, may be dropped.
class Queue {
 public:
  Queue(Object device, Object queue, std::shared_ptr<Health> health,
        std::shared_ptr<Residency> residency);

  /// Returns when everything is committed. What goes wrong, then or later, goes to the completion.
  void submit(core::CommandList list, std::shared_ptr<core::Completion> completion);
  /// Waits on the caller's thread, which saves a switch to another.
  [[nodiscard]] Result<void> submit_and_wait(core::CommandList list,
                                             const std::shared_ptr<core::Completion>& completion);
  void wait_idle();

 private:
  struct Submission;
  /// What those who wait for ends need, and may need longer than there is a queue.
  struct Ends;
  void commit(Submission& submission);
  [[nodiscard]] Result<void> commit_parts(Submission& submission);
  [[nodiscard]] Result<Object> new_command_buffer() const;

  Object device_, queue_, descriptor_;
  std::shared_ptr<Residency> residency_;
  std::shared_ptr<Ends> ends_;
  std::mutex mutex_;  // for committing: lists run in the order of submits
  core::Waiter waiter_;
};

}  // namespace norite::metal
