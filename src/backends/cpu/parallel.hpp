// SPDX-License-Identifier: MIT
// oneTBB, and the one place that hands work to its threads.
#pragma once

#include <cstdint>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NORITE_THREAD_SANITIZER
#endif
#endif

// libtbb is not instrumented, so ThreadSanitizer cannot see how TBB hands tasks from thread to
// thread: it is told to overlook TBB's headers, and parallel_for spells the hand-over out for it.
#ifdef NORITE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>

#include <algorithm>  // what TBB includes is included before, so that it stays checked
#include <memory_resource>
#include <mutex>
#include <thread>
#define NORITE_OVERLOOKED __attribute__((no_sanitize("thread")))
#pragma clang attribute push(NORITE_OVERLOOKED, apply_to = function)
#else
#define NORITE_OVERLOOKED
#endif
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#ifdef NORITE_THREAD_SANITIZER
#pragma clang attribute pop
#endif

namespace norite::cpu {

/// What came before release() on this object is seen after acquire(). Nothing where no sanitizer
/// has to be told.
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

/// Calls body(i) for every i in [0, count), from the threads of the current arena.
template <class Body>
void parallel_for(int64_t count, const Body& body) {
  HandOver fork, join;
  const AtEnd all{[&] { join.acquire(); }};  // also when a body throws
  fork.release();
  oneapi::tbb::parallel_for(int64_t{0}, count, [&](int64_t i) NORITE_OVERLOOKED {
    const AtEnd one{[&] { join.release(); }};
    fork.acquire();
    body(i);
  });
}

}  // namespace norite::cpu
