// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/msl/launch.hpp"
#include "norite/error.hpp"

namespace norite::cpu::msl {

/// Copies of a dispatch's buffers for checked mode, far from each other: where they really are,
/// what runs past the end of one may land in another and look right. Views that overlap stay so.
class GuardedBuffers {
 public:
  GuardedBuffers() = default;
  ~GuardedBuffers();
  GuardedBuffers(const GuardedBuffers&) = delete;
  GuardedBuffers& operator=(const GuardedBuffers&) = delete;

  /// Points the bindings to copies of their bytes.
  Result<void> take_in(std::vector<BufferBinding>& buffers);
  /// Writes back what a kernel may have changed.
  void hand_back() const;

 private:
  struct Copy {
    std::byte* original;
    std::byte* copy;
    uint64_t bytes;
    bool read_only;
  };
  std::byte* memory_ = nullptr;
  uint64_t memory_bytes_ = 0;
  std::vector<Copy> copies_;
};

}  // namespace norite::cpu::msl
