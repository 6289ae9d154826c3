// SPDX-License-Identifier: MIT
#pragma once

#include <hwy/aligned_allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace norite::cpu {

/// The weights of one call of a kernel in the form that its loops read, a copy for each thread that
/// takes part: making one takes less time than reading lines that another core has just written.
/// Threads keep the memory for the next call, as much as the largest has taken.
class ThreadWeights {
 public:
  /// The calling thread's copy, `size` floats, aligned to vectors. It lasts until the thread asks
  /// for those of another call. `expand` writes them, once in a call unless another one came
  /// between. Throws std::bad_alloc.
  template <class Expand>
  const float* here(size_t size, const Expand& expand) const {
    Copy& copy = this_threads();
    if (copy.call == call_) return copy.values.get();
    copy.call = 0;
    if (copy.size < size) {
      copy.values = hwy::AllocateAligned<float>(size);
      copy.size = copy.values ? size : 0;
      if (!copy.values) throw std::bad_alloc();
    }
    expand(copy.values.get());
    copy.call = call_;
    return copy.values.get();
  }

 private:
  struct Copy {
    uint64_t call = 0;  // none
    size_t size = 0;
    hwy::AlignedFreeUniquePtr<float[]> values;
  };
  static Copy& this_threads() {
    thread_local Copy copy;
    return copy;
  }
  static uint64_t next_call() {
    static std::atomic<uint64_t> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const uint64_t call_ = next_call();
};

}  // namespace norite::cpu
