// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "backends/cuda/constant_ring.hpp"
#include "backends/cuda/events.hpp"
#include "backends/cuda/repeated_lists.hpp"
#include "core/completion.hpp"
#include "core/waiter.hpp"

namespace norite::cuda {

/// Puts command lists on the stream, whose order is the commands' order, so that barriers need
/// nothing more. May be shared between threads.
class Queue {
 public:
  explicit Queue(const std::shared_ptr<Stream>& stream);

  /// Returns when everything is on the stream. What goes wrong, then or later, goes to the
  /// completion.
  void submit(core::CommandList list, std::shared_ptr<core::Completion> completion);
  /// Waits on the caller's thread, which saves a switch to another.
  [[nodiscard]] Result<void> submit_and_wait(core::CommandList list,
                                             const std::shared_ptr<core::Completion>& completion);
  /// Runs a graph that stands for these commands, and waits as submit_and_wait does.
  [[nodiscard]] Result<void> replay(std::span<const core::Command> commands, CUgraphExec graph);
  void wait_idle();

 private:
  /// What those who wait for ends need, and may need longer than there is a queue.
  struct Ends;
  struct Submission;
  void put_on_stream(Submission& submission, Events& end_events);
  /// Launches all commands, and records the events that timing asks for.
  [[nodiscard]] Result<void> launch_all(Submission& submission);
  [[nodiscard]] Result<void> launch_one_by_one(Submission& submission);
  [[nodiscard]] Result<void> mark(Submission& submission);
  /// False where the list is no graph or the driver refuses it: one by one its commands may fit,
  /// and tell what is wrong.
  [[nodiscard]] bool launch_whole(Submission& submission);

  std::shared_ptr<Ends> ends_;
  std::mutex mutex_;  // for putting work on the stream
  ConstantRing constants_;
  /// On a stream of the caller's there are none, since it may be part of a capture already, nor
  /// where every launch is to be waited for, so as to know which one fails.
  std::optional<RepeatedLists> repeated_;
  core::Waiter waiter_;
};

}  // namespace norite::cuda
