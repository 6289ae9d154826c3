// SPDX-License-Identifier: MIT
#include "backends/cpu/parallel.hpp"

// TBB's templates share memory with libtbb, which is not instrumented: half a view of that
// hand-over would look like races to ThreadSanitizer, so this file is left out of it altogether.
#ifdef NORITE_THREAD_SANITIZER
#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)), \
                             apply_to = function)
#endif

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace norite::cpu {

namespace tbb = oneapi::tbb;

namespace {

class Tasks final : public TaskStarter {
 public:
  using Body = void (*)(void* context, size_t task, TaskStarter& starter);
  Tasks(Body body, void* context) : body_(body), context_(context) {}

  void start(size_t task) override {
    group_.run([this, task] { body_(context_, task, *this); });
  }
  void run_and_wait(size_t task) {
    group_.run_and_wait([this, task] { body_(context_, task, *this); });
  }

 private:
  Body body_;
  void* context_;
  tbb::task_group group_;
};

}  // namespace

void run_tasks(size_t first, Tasks::Body body, void* context) {
  Tasks(body, context).run_and_wait(first);
}

void parallel_for(int64_t count, RangeCall body, void* context) {
  const auto call = [=](int64_t i) { body(context, i); };
  if (count <= kFewRanges) {
    tbb::parallel_for(int64_t{0}, count, call, tbb::static_partitioner());
  } else {
    tbb::parallel_for(int64_t{0}, count, call);
  }
}

void parallel_for_alone(int64_t count, RangeCall body, void* context) {
  tbb::this_task_arena::isolate([=] { parallel_for(count, body, context); });
}

bool enqueue(void (*task)(void* context), void* context) noexcept {
  try {
    tbb::this_task_arena::enqueue([=] { task(context); });
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace norite::cpu

#ifdef NORITE_THREAD_SANITIZER
#pragma clang attribute pop
#endif
