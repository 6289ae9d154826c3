// SPDX-License-Identifier: MIT
#include "backends/metal/queue.hpp"

#include <algorithm>
#include <list>
#include <span>

#include "backends/metal/encode.hpp"
#include "backends/metal/foundation.hpp"

namespace norite::metal {

namespace {

/// Dispatches of one command buffer: enough to pay for it, few enough that the GPU starts early.
constexpr size_t kMostDispatches = 64;

}  // namespace

struct Queue::Submission {
  /// What one command buffer holds.
  struct Part {
    Object command_buffer;
    size_t first = 0, count = 0;
  };

  core::CommandList list;
  std::vector<LargeConstants> large_constants = {};  // of each command; kept until the end
  std::vector<Part> parts = {};
  Result<void> result = {};  // of committing
};

struct Queue::Ends {
  struct Outcome {
    Result<void> result;
    std::vector<DispatchTiming> timings;
  };

  explicit Ends(std::shared_ptr<Health> of_device) : health(std::move(of_device)) {}

  /// Waits until all that was committed has ended, gives back what it held, and tells how it ended.
  [[nodiscard]] Outcome finish(Submission& submission);
  [[nodiscard]] Outcome wait(const Submission& submission);
  [[nodiscard]] static std::vector<DispatchTiming> timings_of(const Submission& submission);

  std::shared_ptr<Health> health;
  std::mutex mutex;
  std::list<Object> under_way;  // committed, and not known to have ended
};

Queue::Queue(Object device, Object queue, std::shared_ptr<Health> health,
             std::shared_ptr<Residency> residency)
    : device_(std::move(device)),
      queue_(std::move(queue)),
      descriptor_(make("MTLCommandBufferDescriptor")),
      residency_(std::move(residency)),
      ends_(std::make_shared<Ends>(std::move(health))) {
  // Lists hold their buffers and pipelines themselves, exactly until the work has ended.
  msg::set_retained_references(descriptor_, false);
  msg::set_error_options(descriptor_, MTLCommandBufferErrorOptionEncoderExecutionStatus);
}

Result<Object> Queue::new_command_buffer() const {
  auto buffer = Object::retain(msg::command_buffer(queue_, descriptor_));
  if (buffer != nullptr) return buffer;
  return fail(Code::execution_failed, "metal: the command queue gave no command buffer");
}

// With Timing::each every dispatch is a command buffer of its own: only those have times on all
// GPUs.
Result<void> Queue::commit_parts(Submission& submission) {
  const std::span<const core::Command> commands = submission.list.commands;
  for (const core::Command& command : commands) {
    NORITE_TRY_ASSIGN(auto large_constants, prepare(device_, command));
    submission.large_constants.push_back(std::move(large_constants));
  }
  residency_->settle();
  const size_t most = submission.list.timing == Timing::each ? 1 : kMostDispatches;
  for (size_t first = 0; first < commands.size(); first += most) {
    const AutoreleasePool pool;
    const size_t count = std::min(most, commands.size() - first);
    NORITE_TRY_ASSIGN(Object buffer, new_command_buffer());
    const std::string label = core::describe_work(commands.subspan(first, count));
    set_label(buffer, label);
    const Id encoder = msg::compute_encoder(buffer, MTLDispatchTypeConcurrent);
    set_label(encoder, label);
    for (size_t i = first; i < first + count; ++i) {
      // Dispatches of an encoder run side by side unless told otherwise; before the first one there
      // is nothing to wait for.
      const bool barrier = commands[i].barrier_before && i > first;
      if (barrier) msg::memory_barrier(encoder, MTLBarrierScopeBuffers);
      encode(encoder, commands[i], submission.large_constants[i]);
    }
    msg::end_encoding(encoder);
    msg::commit(buffer);
    submission.parts.push_back({std::move(buffer), first, count});
  }
  return {};
}

void Queue::commit(Submission& submission) {
  const AutoreleasePool pool;
  const std::scoped_lock lock(mutex_);
  submission.result = commit_parts(submission);
  const std::scoped_lock ends_lock(ends_->mutex);
  for (const auto& part : submission.parts) ends_->under_way.push_back(part.command_buffer);
}

// Buffers go back before anyone hears of the end; the queue may go with them.
Queue::Ends::Outcome Queue::Ends::finish(Submission& submission) {
  const AutoreleasePool pool;
  Outcome outcome = wait(submission);
  submission = {};
  return outcome;
}

Queue::Ends::Outcome Queue::Ends::wait(const Submission& submission) {
  const std::span<const core::Command> commands = submission.list.commands;
  Outcome outcome;
  for (const Submission::Part& part : submission.parts) {
    msg::wait_until_completed(part.command_buffer);
    auto ended = health->outcome(part.command_buffer, commands.subspan(part.first, part.count));
    if (outcome.result) outcome.result = std::move(ended);  // the first error counts
    const std::scoped_lock lock(mutex);
    under_way.remove_if([&](const Object& one) { return Id(one) == Id(part.command_buffer); });
  }
  if (outcome.result) outcome.result = submission.result;
  if (outcome.result && submission.list.timing != Timing::none)
    outcome.timings = timings_of(submission);
  return outcome;
}

std::vector<DispatchTiming> Queue::Ends::timings_of(const Submission& submission) {
  constexpr double kMicroseconds = 1e6;  // of a second
  std::vector<DispatchTiming> timings;
  if (submission.parts.empty()) return timings;
  const double first = msg::gpu_start_time(submission.parts.front().command_buffer);
  if (submission.list.timing == Timing::whole) {
    double last = first;  // command buffers that share nothing may end in any order
    for (const Submission::Part& part : submission.parts) {
      last = std::max(last, msg::gpu_end_time(part.command_buffer));
    }
    timings.push_back(core::whole_timing((last - first) * kMicroseconds));
    return timings;
  }
  for (const Submission::Part& part : submission.parts) {
    const double start = msg::gpu_start_time(part.command_buffer);
    const double end = msg::gpu_end_time(part.command_buffer);
    timings.push_back({submission.list.commands[part.first].label, (start - first) * kMicroseconds,
                       (end - start) * kMicroseconds});
  }
  return timings;
}

void Queue::submit(core::CommandList list, std::shared_ptr<core::Completion> completion) {
  // std::function wants a copyable job.
  auto submission = std::make_shared<Submission>(Submission{.list = std::move(list)});
  commit(*submission);
  waiter_.post([ends = ends_, submission, completion = std::move(completion)] {
    auto outcome = ends->finish(*submission);
    completion->complete(std::move(outcome.result), std::move(outcome.timings));
  });
}

Result<void> Queue::submit_and_wait(core::CommandList list,
                                    const std::shared_ptr<core::Completion>& completion) {
  const auto ends = ends_;
  Submission submission{.list = std::move(list)};
  commit(submission);
  auto outcome = ends->finish(submission);
  completion->complete(outcome.result, std::move(outcome.timings));
  return outcome.result;
}

void Queue::wait_idle() {
  const AutoreleasePool pool;
  const auto under_way = [this] {
    const std::scoped_lock lock(ends_->mutex);
    return ends_->under_way;
  }();
  for (const Object& buffer : under_way) msg::wait_until_completed(buffer);
  waiter_.drain();
}

}  // namespace norite::metal
