// SPDX-License-Identifier: MIT
#include "backends/cpu/executor.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "backends/cpu/inside.hpp"
#include "backends/cpu/parallel.hpp"
#include "backends/cpu/work_bytes.hpp"
#include "core/pipeline.hpp"

namespace norite::cpu {

namespace tbb = oneapi::tbb;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// Of the thread that runs a kernel, or a range of one: TBB chooses the thread.
using Running = Inside<Executor>;

class Call final : public NativeCall {
 public:
  Call(const core::Command& command, Executor& executor)
      : NativeCall(command.arguments, command.grid), executor_(executor) {}

  void run_ranges(int64_t count, int64_t grain, const RangeBody& body) const override {
    if (count <= 0) return;
    grain = std::max<int64_t>(grain, 1);
    const int64_t ranges = (count - 1) / grain + 1;
    const auto run_range = [&executor = executor_, &body, count, grain](int64_t range) {
      const Running mark(executor);
      const int64_t begin = range * grain;
      body(begin, begin + std::min(grain, count - begin));
    };
    if (executor_.threads() == 1 || ranges == 1) {
      for (int64_t range = 0; range < ranges; ++range) run_range(range);
    } else {
      executor_.team().parallel_for(ranges, run_range, &body);
    }
  }

 private:
  Executor& executor_;
  /// Other threads read what a kernel has on the stack, below this. What comes between two kernels,
  /// recording above all, does not reach down there: else it would wait for those lines one by one.
  [[maybe_unused]] std::byte distance_[4096];
};

Result<void> run_command(const core::Command& command, Executor& executor) {
  const auto failed = [&](std::string_view why, Code code = Code::execution_failed) {
    return fail(code, fmt::format("{}: {}", command.label, why));
  };
  try {
    const Running mark(executor);
    const Call call(command, executor);
    Result<void> result = command.pipeline.state()->native()(call);
    if (result) return result;
    // Kernel text names itself; an operation's name says more only where it is another.
    const auto named = fmt::format("kernel \"{}\": ", command.label);
    if (result.error().message.starts_with(named)) return result;
    return fail(result.error().code, fmt::format("{}: {}", command.label, result.error().message),
                result.error().log);
  } catch (const std::bad_alloc&) {
    return failed("no memory for the kernel's own use", Code::out_of_memory);
  } catch (const std::exception& error) {  // user kernels may throw
    return failed(error.what());
  } catch (...) {
    return failed("the kernel threw");
  }
}

// Whether handing commands to other threads takes less time than it saves.
bool worth_sharing(std::span<const core::Command> group) {
  constexpr int64_t kFewBytes = int64_t{256} << 10;
  if (group.size() == 1) return false;
  int64_t bytes = 0;
  for (const core::Command& command : group) bytes += work_bytes(command);
  return bytes > kFewBytes;
}

Result<void> run_timed(const core::Command& command, Executor& executor, Clock::time_point start,
                       DispatchTiming& timing) {
  const auto begin = Clock::now();
  Result<void> result = run_command(command, executor);
  timing.start_us = microseconds(begin - start);
  timing.duration_us = microseconds(Clock::now() - begin);
  return result;
}

// The error of the first command that has one, whichever is the first to end. A run without errors
// takes no memory.
class FirstError {
 public:
  void add(size_t command, Result<void>&& result) {
    if (result) return;
    const std::scoped_lock lock(mutex_);
    if (!is_before(command)) {
      command_ = command;
      result_ = std::move(result);
    }
  }
  // Whether a command before that one has failed.
  [[nodiscard]] bool is_before(size_t command) const noexcept { return command_ < command; }
  Result<void> take() && { return std::move(result_); }

 private:
  std::mutex mutex_;
  std::atomic<size_t> command_ = SIZE_MAX;
  Result<void> result_;
};

// Commands that do not depend on each other. All of them run, whatever one says.
Result<void> run_group(std::span<const core::Command> group, Executor& executor,
                       Clock::time_point start, std::span<DispatchTiming> timings) {
  const auto run_one = [&](size_t i) {
    return timings.empty() ? run_command(group[i], executor)
                           : run_timed(group[i], executor, start, timings[i]);
  };
  FirstError error;
  if (executor.threads() == 1 || !worth_sharing(group)) {
    for (size_t i = 0; i < group.size(); ++i) error.add(i, run_one(i));
  } else {
    const auto run_together = [&] {
      parallel_for(static_cast<int64_t>(group.size()), [&](size_t i) { error.add(i, run_one(i)); });
    };
    executor.team().rest_during(std::ref(run_together));
  }
  return std::move(error).take();
}

Result<void> run_all(const core::CommandList& list, Executor& executor,
                     std::vector<DispatchTiming>& timings) {
  const std::span<const core::Command> commands(list.commands);
  const auto start = Clock::now();
  if (list.timing == Timing::each) {
    for (const core::Command& command : commands) timings.push_back({command.label, 0, 0});
  }
  for (size_t begin = 0, end = 0; begin < commands.size(); begin = end) {
    end = begin + 1;
    while (end < commands.size() && !commands[end].barrier_before) ++end;
    const auto group_timings = list.timing == Timing::each
                                   ? std::span(timings).subspan(begin, end - begin)
                                   : std::span<DispatchTiming>();
    NORITE_TRY(run_group(commands.subspan(begin, end - begin), executor, start, group_timings));
  }
  if (list.timing == Timing::whole && !commands.empty()) {
    timings.push_back(core::whole_timing(microseconds(Clock::now() - start)));
  }
  return {};
}

}  // namespace

// Where threads share cores, none of them waits for work while it has one.
Executor::Executor(int threads)
    : arena_(threads, 1),
      team_(threads > tbb::info::default_concurrency() ? 1 : threads),
      threads_(threads) {
  if (threads > tbb::info::default_concurrency()) {
    more_threads_.emplace(tbb::global_control::max_allowed_parallelism,
                          static_cast<size_t>(threads));
  }
}

Executor::Outcome Executor::run(const core::CommandList& list) {
  Outcome outcome;
  const auto work = [&] { outcome.result = run_all(list, *this, outcome.timings); };
  if (threads_ == 1) {
    work();
  } else {
    arena_.execute(work);
  }
  return outcome;
}

Result<void> Executor::run(std::span<const core::Command> commands, TaskGraph& tasks) {
  FirstError error;
  const auto run_one = [&](size_t i) {
    // All commands before the first that fails do run, so that it is always the same one.
    if (!error.is_before(i)) error.add(i, run_command(commands[i], *this));
  };
  arena_.execute([&] {
    const auto run_tasks = [&] { tasks.run(std::ref(run_one)); };
    tasks.tasks() == 1 ? run_tasks() : team_.rest_during(std::ref(run_tasks));
  });
  return std::move(error).take();
}

bool Executor::running_here() const noexcept { return Running::of(*this); }

}  // namespace norite::cpu
