// SPDX-License-Identifier: MIT
#include "backends/cpu/team.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace norite::cpu {

namespace {

using Clock = std::chrono::steady_clock;

enum class Stage : uint32_t {
  away,
  invited,  // its task has not begun
  waiting,  // for a job
  called,   // to a job, which belongs to whoever takes the next step
  working,
};

/// What belongs to helpers too. The process may end before one that was invited has come: what it
/// leaves behind is known here, and no leak.
class Shared {
 public:
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

 protected:
  Shared() {
    const std::scoped_lock lock(all().mutex);
    all().known.insert(this);
  }
  ~Shared() {
    const std::scoped_lock lock(all().mutex);
    all().known.erase(this);
  }

 private:
  struct All {
    std::mutex mutex;
    std::set<Shared*> known;
  };
  static All& all() {
    static All* const all = new All;  // for helpers that come while the process ends
    return *all;
  }
};

constexpr size_t kLine = 64;

/// Asks for the lines from there on, all at once: a body and what it refers to are neighbours on
/// the stack, as a rule. The caller, which goes on below them, does not write them meanwhile.
void prefetch_lines(const void* first) noexcept {
  constexpr size_t kLines = 8;
  if (first == nullptr) return;
  for (size_t i = 0; i < kLines; ++i) {
    __builtin_prefetch(static_cast<const std::byte*>(first) + i * kLine);
  }
}

/// One member's part of the ranges.
struct Job {
  SmallBody body{[](int64_t) {}};
  int32_t begin = 0, end = 0;

  /// What it threw.
  std::exception_ptr work() const noexcept {
    try {
      for (int32_t i = begin; i < end; ++i) body(i);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }
};

static_assert(sizeof(Job) <= kLine - 2 * sizeof(void*), "a stage and a pointer share its line");

Job part_of(const SmallBody& body, int64_t count, int64_t member, int64_t members) {
  const auto begin_of = [=](int64_t one) {
    return static_cast<int32_t>((count * one + members - 1) / members);
  };
  return {body, begin_of(member), begin_of(member + 1)};
}

}  // namespace

/// Down to `beside` it is one line, which goes to the helper and back; the rest hardly changes.
/// With a line that it watches a processor fetches its neighbours: they hold nothing of others.
struct alignas(4 * kLine) Team::Helper {
  std::atomic<Stage> stage = Stage::away;
  HandOver invitation;
  Job job;  // the caller's but for the stages `called` and `working`
  std::atomic<const void*> beside = nullptr;
  std::exception_ptr error;  // of the job
  State* team = nullptr;
  std::chrono::nanoseconds linger{};

  [[nodiscard]] bool is(Stage one) const noexcept {
    return stage.load(std::memory_order_acquire) == one;
  }
  bool step(Stage from, Stage to) noexcept {
    return stage.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }
  void dismiss() noexcept {
    if (!step(Stage::waiting, Stage::away)) step(Stage::invited, Stage::away);
  }
  void work() noexcept {
    if (std::exception_ptr thrown = job.work()) error = std::move(thrown);
  }
  bool call(const Job& next, const void* reads) noexcept {
    job = next;
    beside.store(reads, std::memory_order_relaxed);
    if (error) error = nullptr;  // of a call that TBB ended by an exception
    return step(Stage::waiting, Stage::called);
  }
  void invite() noexcept;
  void serve() noexcept;
  void finish() noexcept;
};

struct Team::State : Shared {
  State(size_t count, std::chrono::nanoseconds time) : helpers(count), linger(time) {
    for (Helper& helper : helpers) {
      helper.team = this;
      helper.linger = time;
    }
  }
  void drop() noexcept {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::vector<Helper> helpers;
  const std::chrono::nanoseconds linger;
  std::atomic<int> owners = 1;
  std::atomic_flag busy;         // a call is under way, which the rest belongs to
  Clock::time_point last_end{};  // of a call that missed helpers
};

void Team::Helper::invite() noexcept {
  if (!step(Stage::away, Stage::invited)) return;
  team->owners.fetch_add(1, std::memory_order_relaxed);
  const auto task = [](void* context) {
    auto* const self = static_cast<Helper*>(context);
    self->invitation.acquire();
    self->serve();
    self->team->drop();
  };
  invitation.release();
  if (!enqueue(task, this)) {
    dismiss();
    team->drop();
  }
}

/// When another helper was invited before this one noticed that it was dismissed, both are here for
/// a while: one of them gets the job, and the other leaves.
void Team::Helper::serve() noexcept {
  constexpr int kLooks = 16;  // at the stage, for one at the clock
  if (!step(Stage::invited, Stage::waiting)) return;
  auto until = Clock::now() + linger;
  for (;;) {
    for (int i = 0; i < kLooks && is(Stage::waiting); ++i) hwy::Pause();
    switch (stage.load(std::memory_order_acquire)) {
      case Stage::waiting:
        if (Clock::now() > until && step(Stage::waiting, Stage::away)) return;
        break;
      case Stage::called:
        prefetch_lines(beside.load(std::memory_order_relaxed));  // on their way during the step
        if (!step(Stage::called, Stage::working)) break;
        work();
        stage.store(Stage::waiting, std::memory_order_release);
        until = Clock::now() + linger;
        break;
      default:
        return;
    }
  }
}

/// Returns when the helper's job has ended, on whichever thread.
void Team::Helper::finish() noexcept {
  // To look costs less than to try a step, which takes the line away from the helper.
  if (is(Stage::called) && step(Stage::called, Stage::waiting)) return work();
  constexpr int kPauses = 1000;  // after that, the helper may be in want of this core
  for (int i = 0; is(Stage::working); ++i) i < kPauses ? hwy::Pause() : std::this_thread::yield();
}

Team::Team(int members, std::chrono::nanoseconds linger)
    : state_(new State(static_cast<size_t>(std::max(members, 1) - 1), linger)) {}

Team::~Team() {
  dismiss();
  state_->drop();
}

void Team::dismiss() noexcept {
  for (Helper& helper : state_->helpers) helper.dismiss();
}

int Team::waiting() const noexcept {
  return static_cast<int>(std::ranges::count_if(
      state_->helpers, [](const Helper& helper) { return helper.is(Stage::waiting); }));
}

void Team::rest_during(const std::function<void()>& work) {
  const bool taken = take();
  const AtEnd ended{[&] {
    if (taken) give_back();
  }};
  dismiss();
  work();
}

bool Team::take() noexcept { return !state_->busy.test_and_set(std::memory_order_acquire); }
void Team::give_back() noexcept { state_->busy.clear(std::memory_order_release); }

/// Gives each helper that waits its part, which is the same every time: a thread then finds in its
/// cache what it had the last time. TBB shares out the parts of those that do not, of all if need
/// be.
void Team::share(std::span<Helper> helpers, int64_t count, const SmallBody& body,
                 const void* beside) {
  const auto members = static_cast<int64_t>(helpers.size()) + 1;
  std::array<Helper*, kFewRanges> missing = {};
  size_t missing_count = 0;
  const AtEnd ended{[&] {  // also when TBB throws: jobs refer to what the caller holds
    for (Helper& helper : helpers) helper.finish();
  }};
  for (int64_t member = 1; Helper & helper : helpers) {
    const Job part = part_of(body, count, member++, members);
    if (!helper.call(part, beside)) missing[missing_count++] = &helper;
  }
  const Job own = part_of(body, count, 0, members);
  std::exception_ptr error;
  if (missing_count == 0) {
    error = own.work();
  } else {
    cpu::parallel_for_alone(static_cast<int64_t>(missing_count) + 1, [&](int64_t i) {
      i == 0 ? void(error = own.work()) : missing[static_cast<size_t>(i) - 1]->work();
    });
  }
  for (Helper& helper : helpers) {
    helper.finish();
    if (!helper.error) continue;  // to write would take the line away from the helper
    if (std::exception_ptr thrown = std::exchange(helper.error, nullptr); !error) {
      error = std::move(thrown);
    }
  }
  if (error) std::rethrow_exception(error);
}

void Team::run(int64_t count, const SmallBody& body, const void* beside) {
  if (count > kFewRanges) {
    dismiss();
    return cpu::parallel_for(count, body);
  }
  const auto useful = std::clamp<int64_t>(count - 1, 0, std::ssize(state_->helpers));
  if (useful == 0 || !take()) return cpu::parallel_for_alone(count, body);
  const AtEnd ended{[this] { give_back(); }};
  const std::span helpers(state_->helpers.data(), static_cast<size_t>(useful));
  if (std::ranges::all_of(helpers, [](const Helper& one) { return one.is(Stage::waiting); })) {
    return share(helpers, count, body, beside);
  }
  const auto begin = Clock::now();
  share(helpers, count, body, beside);
  const auto end = Clock::now();
  if (begin - std::exchange(state_->last_end, end) > state_->linger) return;
  for (Helper& helper : helpers) helper.invite();
}

}  // namespace norite::cpu
