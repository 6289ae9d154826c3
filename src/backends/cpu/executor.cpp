// SPDX-License-Identifier: MIT
#include "backends/cpu/executor.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

#include "core/pipeline.hpp"

namespace norite::cpu {

namespace tbb = oneapi::tbb;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

class Call final : public NativeCall {
 public:
  Call(const core::Command& command, int threads)
      : NativeCall(command.arguments, command.grid), threads_(threads) {}

  void parallel_for(int64_t count, int64_t grain, const RangeBody& body) const override {
    if (count <= 0) return;
    grain = std::max<int64_t>(grain, 1);
    const int64_t ranges = (count - 1) / grain + 1;
    const auto run_range = [&](int64_t range) {
      body(range * grain, std::min((range + 1) * grain, count));
    };
    if (threads_ == 1 || ranges == 1) {
      for (int64_t range = 0; range < ranges; ++range) run_range(range);
    } else {
      tbb::parallel_for(int64_t{0}, ranges, run_range);
    }
  }

 private:
  int threads_;
};

Result<void> run_command(const core::Command& command, int threads) {
  const auto failed = [&](std::string_view why) {
    return fail(Code::execution_failed, fmt::format("{}: {}", command.label, why));
  };
  try {
    const Call call(command, threads);
    Result<void> result = command.pipeline.state()->native()(call);
    if (result) return result;
    return fail(result.error().code, fmt::format("{}: {}", command.label, result.error().message),
                result.error().log);
  } catch (const std::exception& error) {  // user kernels and allocation may throw
    return failed(error.what());
  } catch (...) {
    return failed("the kernel threw");
  }
}

// Commands [begin, end) that do not depend on each other.
Result<void> run_group(std::span<const core::Command> group, int threads, bool timing,
                       Clock::time_point start, std::span<DispatchTiming> timings) {
  std::vector<Result<void>> results(group.size());
  const auto run_one = [&](size_t i) {
    const auto begin = timing ? Clock::now() : start;
    results[i] = run_command(group[i], threads);
    if (timing) {
      timings[i] = {group[i].label, microseconds(begin - start),
                    microseconds(Clock::now() - begin)};
    }
  };
  if (threads == 1 || group.size() == 1) {
    for (size_t i = 0; i < group.size(); ++i) run_one(i);
  } else {
    tbb::parallel_for(size_t{0}, group.size(), run_one);
  }
  for (Result<void>& result : results) {
    if (!result) return std::move(result);
  }
  return {};
}

Result<void> run_all(const core::CommandList& list, int threads,
                     std::vector<DispatchTiming>& timings) {
  const std::span<const core::Command> commands(list.commands);
  const auto start = Clock::now();
  timings.resize(list.timing ? commands.size() : 0);
  for (size_t begin = 0, end = 0; begin < commands.size(); begin = end) {
    end = begin + 1;
    while (end < commands.size() && !commands[end].barrier_before) ++end;
    const auto group_timings =
        list.timing ? std::span(timings).subspan(begin, end - begin) : std::span<DispatchTiming>();
    NORITE_TRY(run_group(commands.subspan(begin, end - begin), threads, list.timing, start,
                         group_timings));
  }
  return {};
}

}  // namespace

Executor::Executor(int threads) : arena_(threads, 1), threads_(threads) {
  if (threads > tbb::info::default_concurrency()) {
    more_threads_.emplace(tbb::global_control::max_allowed_parallelism,
                          static_cast<size_t>(threads));
  }
}

Executor::Outcome Executor::run(const core::CommandList& list) {
  Outcome outcome;
  const auto work = [&] { outcome.result = run_all(list, threads_, outcome.timings); };
  if (threads_ == 1) {
    work();
  } else {
    arena_.execute(work);
  }
  return outcome;
}

}  // namespace norite::cpu
