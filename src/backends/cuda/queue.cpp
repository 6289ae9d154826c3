// SPDX-License-Identifier: MIT
#include "backends/cuda/queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/launch.hpp"
#include "core/env.hpp"

namespace norite::cuda {

struct Queue::Submission {
  core::CommandList list;
  size_t launched = 0;              // commands that are on the stream
  Result<void> result = {};         // of putting them there
  std::vector<CUevent> marks = {};  // with timing: before the first command, and after each or all
  CUevent end = nullptr;
};

struct Queue::Ends {
  explicit Ends(const std::shared_ptr<Stream>& on)
      : stream(on), spinning(on, CU_EVENT_DEFAULT), sleeping(on, CU_EVENT_BLOCKING_SYNC) {}

  struct Outcome {
    Result<void> result;
    std::vector<DispatchTiming> timings;
  };
  /// Waits until all that was launched has ended.
  [[nodiscard]] CUresult wait(Submission& submission, Events& end_events) const;
  /// What to announce, given what the wait said.
  [[nodiscard]] Outcome outcome_of(Submission& submission, CUresult waited);
  [[nodiscard]] Result<void> result_of(const Submission& submission, CUresult waited) const;
  [[nodiscard]] std::vector<DispatchTiming> timings_of(const Submission& submission) const;

  std::shared_ptr<Stream> stream;
  Events spinning;  // for callers who wait themselves
  Events sleeping;  // for the thread that waits for many
};

namespace {

double microseconds_between(const Driver& driver, CUevent start, CUevent end) {
  float milliseconds = 0;
  driver.cuEventElapsedTime(&milliseconds, start, end);
  return double{milliseconds} * 1e3;
}

}  // namespace

Queue::Queue(const std::shared_ptr<Stream>& stream)
    : ends_(std::make_shared<Ends>(stream)), constants_(stream) {
  if (stream->own() && !core::env::cuda_launch_blocking()) repeated_.emplace(stream);
}

Result<void> Queue::mark(Submission& submission) {
  NORITE_TRY_ASSIGN(CUevent event, ends_->spinning.record());
  submission.marks.push_back(event);
  return {};
}

Result<void> Queue::launch_one_by_one(Submission& submission) {
  const bool marks_each = submission.list.timing == Timing::each;
  for (const core::Command& command : submission.list.commands) {
    if (auto launched = launch(*ends_->stream, constants_, command); !launched) {
      return fail(launched.error().code,
                  fmt::format("{}: {}", command.label, launched.error().message),
                  std::move(launched.error().log));
    }
    ++submission.launched;
    if (marks_each) NORITE_TRY(mark(submission));
  }
  return {};
}

bool Queue::launch_whole(Submission& submission) {
  if (!repeated_) return false;
  CUgraphExec graph = repeated_->instance_of(submission.list, constants_);
  if (graph == nullptr) return false;
  const Stream& stream = *ends_->stream;
  const auto launched = stream.context().check(
      stream.driver().cuGraphLaunch(graph, stream.handle()), "the launch of a graph");
  if (launched) submission.launched = submission.list.commands.size();
  return launched.has_value();
}

Result<void> Queue::launch_all(Submission& submission) {
  const Timing timing = submission.list.timing;
  if (timing != Timing::none) NORITE_TRY(mark(submission));
  if (!launch_whole(submission)) NORITE_TRY(launch_one_by_one(submission));
  return timing == Timing::whole ? mark(submission) : Result<void>();
}

void Queue::put_on_stream(Submission& submission, Events& end_events) {
  const std::scoped_lock lock(mutex_);
  submission.result = launch_all(submission);
  // After a failure too: buffers must stay until what was launched has ended.
  if (auto end = end_events.record()) {
    submission.end = *end;
  } else if (submission.result) {
    submission.result = tl::unexpected<Error>(end.error());
  }
}

CUresult Queue::Ends::wait(Submission& submission, Events& end_events) const {
  // Where no end could be recorded, something is wrong already.
  if (submission.end == nullptr) return stream->driver().cuStreamSynchronize(stream->handle());
  const CUresult waited = stream->driver().cuEventSynchronize(submission.end);
  end_events.give_back(submission.end);
  return waited;
}

Queue::Ends::Outcome Queue::Ends::outcome_of(Submission& submission, CUresult waited) {
  Outcome outcome{result_of(submission, waited), {}};
  if (outcome.result) outcome.timings = timings_of(submission);
  for (CUevent mark : submission.marks) spinning.give_back(mark);
  return outcome;
}

Result<void> Queue::Ends::result_of(const Submission& submission, CUresult waited) const {
  Context& context = stream->context();
  // A fault shows in whatever call comes next, which may have been a launch.
  if (waited == CUDA_SUCCESS && !submission.result) {
    waited = context.fault().value_or(CUDA_SUCCESS);
  }
  if (waited != CUDA_SUCCESS) {
    const std::span commands(submission.list.commands);
    const size_t suspects = submission.launched + (submission.result ? 0 : 1);
    return context.blame(waited,
                         core::describe_work(commands.first(std::min(suspects, commands.size()))));
  }
  return submission.result;
}

std::vector<DispatchTiming> Queue::Ends::timings_of(const Submission& submission) const {
  const auto& marks = submission.marks;
  std::vector<DispatchTiming> timings;
  if (submission.list.timing == Timing::none || submission.launched == 0) return timings;
  if (submission.list.timing == Timing::whole) {
    timings.push_back(
        core::whole_timing(microseconds_between(stream->driver(), marks.front(), marks.back())));
    return timings;
  }
  for (size_t i = 0; i + 1 < marks.size(); ++i) {
    timings.push_back({submission.list.commands[i].label,
                       microseconds_between(stream->driver(), marks[0], marks[i]),
                       microseconds_between(stream->driver(), marks[i], marks[i + 1])});
  }
  return timings;
}

void Queue::submit(core::CommandList list, std::shared_ptr<core::Completion> completion) {
  // std::function wants a copyable job.
  auto submission = std::make_shared<Submission>(Submission{.list = std::move(list)});
  {
    const Current current(ends_->stream->context());
    put_on_stream(*submission, ends_->sleeping);
  }
  waiter_.post([ends = ends_, submission, completion = std::move(completion)] {
    const Current current(ends->stream->context());
    auto outcome = ends->outcome_of(*submission, ends->wait(*submission, ends->sleeping));
    // A caller who waited may destroy a stream that was lent, whoever else still waits: nothing may
    // be freed on it afterwards.
    if (!ends->stream->own()) submission->list.commands.clear();
    // The queue may go with the buffers.
    completion->complete(std::move(outcome.result), std::move(outcome.timings),
                         std::move(submission->list.commands));
  });
}

Result<void> Queue::submit_and_wait(core::CommandList list,
                                    const std::shared_ptr<core::Completion>& completion) {
  Submission submission{.list = std::move(list)};
  const auto ends = ends_;
  const Current current(ends->stream->context());
  put_on_stream(submission, ends->spinning);
  const CUresult waited = ends->wait(submission, ends->spinning);
  // Work from before may be to blame, and has the first say.
  if (waited != CUDA_SUCCESS || !submission.result) waiter_.drain();
  auto outcome = ends->outcome_of(submission, waited);
  submission.list.commands.clear();
  completion->complete(outcome.result, std::move(outcome.timings));
  return outcome.result;
}

Result<void> Queue::replay(std::span<const core::Command> commands, CUgraphExec graph) {
  const auto ends = ends_;
  const Stream& stream = *ends->stream;
  const Current current(stream.context());
  const auto put = [&]() -> Result<CUevent> {
    const std::scoped_lock lock(mutex_);
    if (const CUresult error = stream.driver().cuGraphLaunch(graph, stream.handle())) {
      NORITE_TRY(stream.context().check(
          error, fmt::format("the launch of a graph, {}", core::describe_work(commands))));
    }
    return ends->spinning.record();
  };
  NORITE_TRY_ASSIGN(CUevent end, put());
  const CUresult waited = stream.driver().cuEventSynchronize(end);
  ends->spinning.give_back(end);
  if (waited == CUDA_SUCCESS) return {};
  waiter_.drain();  // work from before may be to blame, and has the first say
  return stream.context().blame(waited, core::describe_work(commands));
}

void Queue::wait_idle() {
  waiter_.drain();
  const Current current(ends_->stream->context());
  ends_->stream->settle();
}

}  // namespace norite::cuda
