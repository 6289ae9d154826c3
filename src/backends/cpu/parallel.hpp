// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NORITE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace norite::cpu {

/// Little work is handed out once: what takes turns costs more than it balances, and a thread finds
/// in its cache what it had the last time.
inline constexpr int64_t kFewRanges = 16;

using RangeCall = void (*)(void* context, int64_t i);
/// Calls body(context, i) for every i in [0, count), from the threads of the current TBB arena.
void parallel_for(int64_t count, RangeCall body, void* context);
/// Likewise; a thread that waits for others meanwhile does not run what else the arena has.
void parallel_for_alone(int64_t count, RangeCall body, void* context);

/// Has a thread of the current TBB arena call task(context) later on, soon as a rule. False for
/// want of memory.
bool enqueue(void (*task)(void* context), void* context) noexcept;

/// Hands tasks to the threads of a TBB arena.
class TaskStarter {
 public:
  virtual void start(size_t task) = 0;

 protected:
  ~TaskStarter() = default;
};

/// Calls body(context, task, starter) for the first task, and for every task that a body starts,
/// from the threads of the current TBB arena. Bodies do not throw. A body that waits, for ranges of
/// parallel_for say, may meanwhile have its thread run another.
void run_tasks(size_t first, void (*body)(void* context, size_t task, TaskStarter& starter),
               void* context);

/// What came before release() on this object is seen after acquire(). TBB sees to that already;
/// ThreadSanitizer, which cannot look into libtbb, has to be told.
class HandOver {
 public:
#ifdef NORITE_THREAD_SANITIZER
  void release() { __tsan_release(this); }
  void acquire() { __tsan_acquire(this); }
#else
  void release() {}
  void acquire() {}
#endif
};

template <class Action>
struct AtEnd {
  Action action;
  ~AtEnd() { action(); }
};

/// A body that several threads call.
template <class Body>
struct SharedBody {
  HandOver fork, join;
  const Body& body;

  template <class... Arguments>
  void call(Arguments&&... arguments) {
    fork.acquire();
    const AtEnd one{[&] { join.release(); }};
    body(std::forward<Arguments>(arguments)...);
  }
};

/// Calls run(call, context): call(context, i) is then body(i), on any thread.
template <class Body, class Run>
void share_body(const Body& body, const Run& run) {
  SharedBody<Body> shared{{}, {}, body};
  const AtEnd all{[&] { shared.join.acquire(); }};  // also when a body throws
  shared.fork.release();
  run([](void* context, int64_t i) { static_cast<SharedBody<Body>*>(context)->call(i); }, &shared);
}

/// Calls body(i) for every i in [0, count), from the threads of the current TBB arena.
template <class Body>
void parallel_for(int64_t count, const Body& body) {
  share_body(body, [=](RangeCall call, void* context) { parallel_for(count, call, context); });
}

/// Likewise; a thread that waits for others meanwhile does not run what else the arena has.
template <class Body>
void parallel_for_alone(int64_t count, const Body& body) {
  share_body(body,
             [=](RangeCall call, void* context) { parallel_for_alone(count, call, context); });
}

/// Calls body(task, starter) for the first task and for every task that a body starts, likewise.
/// What a body did before it starts a task is handed over by the body itself.
template <class Body>
void run_tasks(size_t first, const Body& body) {
  SharedBody<Body> shared{{}, {}, body};
  shared.fork.release();
  run_tasks(
      first,
      [](void* context, size_t task, TaskStarter& starter) {
        static_cast<SharedBody<Body>*>(context)->call(task, starter);
      },
      &shared);
  shared.join.acquire();
}

}  // namespace norite::cpu
