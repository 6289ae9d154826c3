// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "msl/shim/abi.h"

namespace norite::cpu::msl {

constexpr uint32_t kMaxThreadgroupBytes = 32 * 1024;  // Metal's limit
/// Unused bytes behind each variable and slot: what runs past its end hits none of its neighbours.
constexpr uint32_t kThreadgroupGap = 64;

/// Where the `threadgroup` variables of one kernel lie in a group's memory. Groups on all threads
/// share it: the first that meets a variable places it for everyone.
class Variables {
 public:
  struct Extent {
    uint32_t offset = 0;
    uint32_t bytes = 0;
  };
  static constexpr uint32_t kSpan = 2 * kMaxThreadgroupBytes;  // room for the gaps

  /// Chooses the variable's place if it has none. False when there is no room.
  bool place(norite_msl::ThreadgroupVariable& variable, uint64_t bytes, uint64_t alignment);
  /// Memory used as Metal counts it, without gaps.
  [[nodiscard]] uint32_t bytes() const;
  [[nodiscard]] std::vector<Extent> extents() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Extent> extents_;
  uint64_t next_ = kThreadgroupGap;
  uint64_t bytes_ = 0;
};

}  // namespace norite::cpu::msl
