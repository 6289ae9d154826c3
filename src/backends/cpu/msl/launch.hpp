// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace norite::cpu::msl {

struct BufferBinding {
  unsigned index = 0;
  void* data = nullptr;
  uint64_t bytes = 0;
  bool read_only = false;
  std::string name = {};  // of the kernel's argument, for reports
};

/// Memory for a [[threadgroup(index)]] argument.
struct ThreadgroupSlot {
  unsigned index = 0;
  uint64_t bytes = 0;
};

/// One dispatch of a compiled kernel.
struct Launch {
  std::string kernel = {};  // its name in errors
  std::array<int64_t, 3> groups = {1, 1, 1};
  std::array<int64_t, 3> threads = {1, 1, 1};  // of a group
  /// Threads in all, instead of `groups`: the last group in each dimension may then be smaller.
  std::optional<std::array<int64_t, 3>> grid = {};
  std::vector<BufferBinding> buffers = {};
  std::vector<ThreadgroupSlot> slots = {};
  std::chrono::milliseconds time_limit{0};  // 0: none
};

}  // namespace norite::cpu::msl
