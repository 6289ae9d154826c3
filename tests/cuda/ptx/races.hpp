// SPDX-License-Identifier: MIT
// Races on a group's shared memory: accesses of two threads to the same bytes, one of which writes,
// with neither a barrier nor a meeting of their warp in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace norite::ptx {

/// Who accesses, and when.
struct Access {
  uint32_t thread = 0;
  uint32_t barriers = 0;  // of the group so far
  uint32_t meetings = 0;  // of the warp so far
};

class Races {
 public:
  void reset(size_t shared_bytes);
  void pass_barrier() { ++barriers_; }
  [[nodiscard]] uint32_t barriers() const { return barriers_; }

  /// False where it races with an earlier access.
  bool read(size_t place, size_t bytes, const Access& access);
  bool write(size_t place, size_t bytes, const Access& access);

 private:
  static constexpr size_t kGrain = 2;  // bytes: no kernel shares smaller values

  struct Last {
    Access access;
    bool any = false;
    bool several_threads = false, several_warps = false;
  };
  static bool ordered(const Last& last, const Access& access);

  std::vector<Last> reads_, writes_;
  uint32_t barriers_ = 0;
};

}  // namespace norite::ptx
