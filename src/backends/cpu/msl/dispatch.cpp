// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "backends/cpu/msl/cancellation.hpp"
#include "backends/cpu/msl/checker.hpp"
#include "backends/cpu/msl/fault.hpp"
#include "backends/cpu/msl/group_runner.hpp"
#include "backends/cpu/msl/guarded_buffers.hpp"

namespace norite::cpu::msl {

using norite_msl::Uint3;

namespace {

constexpr std::string_view kDimensions = "xyz";
// A range of small groups should outweigh the handing over; but there should be enough ranges for
// every core, however much a thread has to do.
constexpr int64_t kThreadsOfRange = 4096;
constexpr int64_t kRanges = 256;

template <class... Values>
auto refused(const Launch& launch, fmt::format_string<Values...> format, Values&&... values) {
  return fail(Code::invalid_argument,
              fmt::format("kernel \"{}\": {}", launch.kernel,
                          fmt::format(format, std::forward<Values>(values)...)));
}

Uint3 narrowed(const std::array<int64_t, 3>& values) {
  return {static_cast<unsigned>(values[0]), static_cast<unsigned>(values[1]),
          static_cast<unsigned>(values[2])};
}

Result<void> set_grid(const Launch& launch, GroupWork& work) {
  constexpr int64_t kMost = UINT32_MAX;
  std::array<int64_t, 3> groups = launch.groups;
  std::array<int64_t, 3> grid = launch.grid.value_or(groups);
  for (size_t i = 0; i < 3; ++i) {
    const int64_t threads = launch.threads[i];
    if (threads < 1 || threads > kMaxThreads || grid[i] < 1) {
      return refused(launch, "{} {} of {} threads in {}, expected 1 or more {} of 1 to {}", grid[i],
                     launch.grid ? "threads in groups" : "groups", threads, kDimensions[i],
                     launch.grid ? "threads in groups" : "groups", kMaxThreads);
    }
    if (grid[i] > (launch.grid ? kMost : kMost / threads)) {
      return refused(launch, "the grid has more than {} threads in {}", kMost, kDimensions[i]);
    }
    if (launch.grid) {
      groups[i] = (grid[i] - 1) / threads + 1;
    } else {
      grid[i] = groups[i] * threads;
    }
  }
  const int64_t threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
  if (threads > kMaxThreads) {
    return refused(launch, "{} threads a group, at most {} expected", threads, kMaxThreads);
  }
  int64_t total = 0;
  if (__builtin_mul_overflow(groups[0], groups[1], &total) ||
      __builtin_mul_overflow(total, groups[2], &total)) {
    return refused(launch, "{} x {} x {} groups are too many", groups[0], groups[1], groups[2]);
  }
  work.threads = narrowed(launch.threads);
  work.groups = narrowed(groups);
  work.grid = narrowed(grid);
  return {};
}

Result<void> set_buffers(const Launch& launch, GroupWork& work) {
  const auto& needed = work.object->entry().buffer_bytes;
  for (const BufferBinding& buffer : launch.buffers) {
    if (buffer.index >= norite_msl::kMaxBuffers) {
      return refused(launch, "buffer {}, expected 0 to {}", buffer.index,
                     norite_msl::kMaxBuffers - 1);
    }
    if (buffer.bytes < needed[buffer.index]) {
      return refused(launch, "buffer {} has {} bytes, expected {} or more", buffer.index,
                     buffer.bytes, needed[buffer.index]);
    }
    work.arguments.buffer[buffer.index] = buffer.data;
  }
  for (unsigned index = 0; index < norite_msl::kMaxBuffers; ++index) {
    if (needed[index] > 0 && work.arguments.buffer[index] == nullptr) {
      return refused(launch, "buffer {} is not bound", index);
    }
  }
  return {};
}

Result<void> set_slots(const Launch& launch, GroupWork& work) {
  uint64_t sum = 0;
  uint64_t offset = 0;
  for (const ThreadgroupSlot& slot : launch.slots) {
    if (slot.index >= norite_msl::kMaxThreadgroupSlots || slot.bytes < 1 ||
        slot.bytes > kMaxThreadgroupBytes || work.slot_bytes[slot.index] != 0) {
      return refused(launch,
                     "threadgroup slot {} of {} bytes, expected slots 0 to {}, once each, of 1 to "
                     "{} bytes",
                     slot.index, slot.bytes, norite_msl::kMaxThreadgroupSlots - 1,
                     kMaxThreadgroupBytes);
    }
    work.slot_offset[slot.index] = static_cast<uint32_t>(offset);
    work.slot_bytes[slot.index] = static_cast<uint32_t>(slot.bytes);
    const uint64_t rounded = (slot.bytes + 15) / 16 * 16;
    sum += rounded;
    if (sum > kMaxThreadgroupBytes) break;
    offset += rounded + kThreadgroupGap;
  }
  work.slot_bytes_in_sum = static_cast<uint32_t>(sum);
  return {};
}

// Variables are known once a thread has met them: before the first dispatch there may be none yet.
Result<void> check_threadgroup_memory(const Launch& launch, const GroupWork& work) {
  const uint32_t variables = work.object->variables().bytes();
  if (variables + work.slot_bytes_in_sum <= kMaxThreadgroupBytes) return {};
  return refused(launch,
                 "{} bytes of threadgroup memory in slots and {} in variables, at most {} "
                 "expected together",
                 work.slot_bytes_in_sum, variables, kMaxThreadgroupBytes);
}

// Runs groups by number on any thread, and remembers the first that did not finish.
class Groups {
 public:
  Groups(const Launch& launch, const GroupWork& work, Cancellation& cancellation)
      : launch_(launch), work_(work), cancellation_(cancellation) {}

  [[nodiscard]] int64_t count() const {
    return int64_t{work_.groups.x} * work_.groups.y * work_.groups.z;
  }

  void run(int64_t begin, int64_t end) {
    GroupRunner& runner = GroupRunner::of_this_thread();
    if (!runner.begin(work_)) {
      stop({.no_memory = true});
      return;
    }
    for (int64_t group = begin; group < end; ++group) {
      if (cancellation_.requested()) {
        left_out_ = true;
        return;
      }
      const Uint3 place = position(group);
      const auto outcome = runner.run(place);
      if (outcome != GroupRunner::Outcome::finished) {
        stop({false, outcome, place, runner.stopped_thread(), runner.fault()});
      }
    }
  }

  [[nodiscard]] Result<void> result() const {
    if (!stop_) {
      if (!left_out_) return check_threadgroup_memory(launch_, work_);
      return timed_out("between two groups");  // the limit passed while none was running
    }
    if (stop_->no_memory) {
      return fail(Code::out_of_memory,
                  fmt::format("kernel \"{}\": no memory for its threads", launch_.kernel));
    }
    switch (stop_->outcome) {
      case GroupRunner::Outcome::cancelled:
        return timed_out(fmt::format("in group ({}, {}, {}), thread {}", stop_->group.x,
                                     stop_->group.y, stop_->group.z, stop_->thread));
      case GroupRunner::Outcome::no_threadgroup_memory:
        return refused(launch_,
                       "its threadgroup variables need more than the {} bytes that {} bytes in "
                       "slots leave of {}",
                       kMaxThreadgroupBytes - work_.slot_bytes_in_sum, work_.slot_bytes_in_sum,
                       kMaxThreadgroupBytes);
      case GroupRunner::Outcome::faulted:
        return fail(Code::execution_failed,
                    fmt::format("kernel \"{}\": thread {} of group ({}, {}, {}) {}", launch_.kernel,
                                stop_->thread, stop_->group.x, stop_->group.y, stop_->group.z,
                                describe(stop_->fault, *work_.object, launch_)));
      case GroupRunner::Outcome::refused:  // the checker's report says why
      case GroupRunner::Outcome::finished:
        break;
    }
    return {};
  }

 private:
  struct Stop {
    bool no_memory = false;
    GroupRunner::Outcome outcome = GroupRunner::Outcome::finished;
    Uint3 group = {};
    unsigned thread = 0;
    Fault fault = {};
  };

  [[nodiscard]] Uint3 position(int64_t group) const {
    const Uint3 groups = work_.groups;
    return {static_cast<unsigned>(group % groups.x),
            static_cast<unsigned>(group / groups.x % groups.y),
            static_cast<unsigned>(group / groups.x / groups.y)};
  }

  // The groups beside it end at their next look.
  void stop(const Stop& stop) {
    const std::scoped_lock lock(mutex_);
    if (!stop_) stop_ = stop;
    cancellation_.request();
  }

  [[nodiscard]] Result<void> timed_out(std::string_view where) const {
    return fail(Code::timeout, fmt::format("kernel \"{}\": stopped {} at its time limit of {} ms",
                                           launch_.kernel, where, launch_.time_limit.count()));
  }

  const Launch& launch_;
  const GroupWork& work_;
  Cancellation& cancellation_;
  std::mutex mutex_;
  std::optional<Stop> stop_;
  std::atomic<bool> left_out_ = false;  // a group, when the time was over
};

Result<void> run_checked(Launch launch, GroupWork& work, Groups& groups) {
  GuardedBuffers copies;
  NORITE_TRY(copies.take_in(launch.buffers));
  for (const BufferBinding& buffer : launch.buffers) {
    work.arguments.buffer[buffer.index] = buffer.data;
  }
  GroupRunner& runner = GroupRunner::of_this_thread();
  if (!runner.begin(work)) {
    return fail(Code::out_of_memory,
                fmt::format("kernel \"{}\": no memory for its threads", launch.kernel));
  }
  Checker checker(work, launch, runner.arena());
  NORITE_TRY(checker.prepare());
  work.checker = &checker;
  groups.run(0, groups.count());
  copies.hand_back();
  NORITE_TRY(checker.report());
  return groups.result();
}

}  // namespace

Result<void> run(const KernelObject& object, const Launch& launch, const NativeCall& call) {
  GroupWork work;
  work.object = &object;
  NORITE_TRY(set_grid(launch, work));
  NORITE_TRY(set_buffers(launch, work));
  NORITE_TRY(set_slots(launch, work));
  NORITE_TRY(check_threadgroup_memory(launch, work));

  Cancellation cancellation;
  work.cancellation = &cancellation;
  Groups groups(launch, work, cancellation);
  const TimeLimit limit(launch.time_limit, cancellation);
  if (object.checked()) return run_checked(launch, work, groups);

  const int64_t threads = int64_t{work.threads.x} * work.threads.y * work.threads.z;
  const int64_t grain = std::min(kThreadsOfRange / threads, groups.count() / kRanges);
  call.parallel_for(groups.count(), std::max<int64_t>(grain, 1),
                    [&](int64_t begin, int64_t end) { groups.run(begin, end); });
  return groups.result();
}

}  // namespace norite::cpu::msl
