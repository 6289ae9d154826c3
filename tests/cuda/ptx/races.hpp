// SPDX-License-Identifier: MIT
// Races on a group's shared memory: accesses of two threads to the same bytes, one of which writes,
// with neither a barrier of the group nor one of their warp in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace norite::ptx {

/// Who accesses, and when, in few bytes: there is one for every other byte of shared memory.
struct Access {
  uint32_t barriers = 0;  // of the group so far, and this one: 0 is no access
  uint32_t thread : 10 = 0;
  uint32_t meetings : 20 = 0;  // of the warp so far
  uint32_t several_threads : 1 = 0;
  uint32_t several_warps : 1 = 0;
  bool atomic = false;  // races with no other such
};

class Races {
 public:
  void reset(size_t shared_bytes);
  void pass_barrier() { ++barriers_; }
  [[nodiscard]] Access access(unsigned thread, uint32_t meetings) const {
    return {.barriers = barriers_, .thread = thread & 0x3ff, .meetings = meetings & 0xfffff};
  }

  /// False where it races with an earlier access.
  bool read(size_t place, size_t bytes, const Access& access);
  bool write(size_t place, size_t bytes, const Access& access);

 private:
  static constexpr size_t kGrain = 2;  // bytes: no kernel shares smaller values

  static bool ordered(const Access& last, const Access& access);

  std::vector<Access> reads_, writes_;
  uint32_t barriers_ = 1;
};

}  // namespace norite::ptx
