// SPDX-License-Identifier: MIT
#include "backends/cpu/parallel.hpp"

// TBB's templates share memory with libtbb, which is not instrumented: half a view of that
// hand-over would look like races to ThreadSanitizer, so this file is left out of it altogether.
#ifdef NORITE_THREAD_SANITIZER
#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)), \
                             apply_to = function)
#endif

#include <oneapi/tbb/parallel_for.h>

namespace norite::cpu {

void parallel_for(int64_t count, void (*body)(void* context, int64_t i), void* context) {
  const auto call = [=](int64_t i) { body(context, i); };
  // Little work is handed out once: what takes turns costs more than it balances, and a thread
  // finds in its cache what it had the last time.
  constexpr int64_t kFew = 16;
  if (count <= kFew) {
    oneapi::tbb::parallel_for(int64_t{0}, count, call, oneapi::tbb::static_partitioner());
  } else {
    oneapi::tbb::parallel_for(int64_t{0}, count, call);
  }
}

}  // namespace norite::cpu

#ifdef NORITE_THREAD_SANITIZER
#pragma clang attribute pop
#endif
