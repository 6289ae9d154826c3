// SPDX-License-Identifier: MIT
#pragma once

#include <hwy/aligned_allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace norite::cpu {

/// The weights of one call of a kernel in the form that its loops read, a copy for each thread that
/// takes part: making one takes less time than reading lines that another core has just written.
/// Threads keep the memory for the next call, up to kMostKept floats; of more there is one copy for
/// all of them, which goes with the call.
class ThreadWeights {
 public:
  static constexpr size_t kMostKept = size_t{1} << 18;

  /// The calling thread's copy, `size` floats, aligned to vectors. It lasts until the thread asks
  /// for those of another call. `expand` writes them, once in a call unless another one came
  /// between. Throws std::bad_alloc.
  template <class Expand>
  const float* here(size_t size, const Expand& expand) const {
    if (size > kMostKept) return for_all(size, expand);
    Copy& copy = this_threads();
    if (copy.call == call_) return copy.values.get();
    copy.call = 0;
    if (copy.size < size) {
      copy.size = 0;
      copy.values = allocate(size);
      copy.size = size;
    }
    expand(copy.values.get());
    copy.call = call_;
    return copy.values.get();
  }

 private:
  using Values = hwy::AlignedFreeUniquePtr<float[]>;
  struct Copy {
    uint64_t call = 0;  // none
    size_t size = 0;
    Values values;
  };

  static Values allocate(size_t size) {
    Values values = hwy::AllocateAligned<float>(size);
    if (!values) throw std::bad_alloc();
    return values;
  }
  template <class Expand>
  const float* for_all(size_t size, const Expand& expand) const {
    const std::scoped_lock lock(mutex_);
    if (!shared_) {
      Values values = allocate(size);
      expand(values.get());
      shared_ = std::move(values);
    }
    return shared_.get();
  }
  static Copy& this_threads() {
    thread_local Copy copy;
    return copy;
  }
  static uint64_t next_call() {
    static std::atomic<uint64_t> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const uint64_t call_ = next_call();
  mutable std::mutex mutex_;
  mutable Values shared_;
};

}  // namespace norite::cpu
