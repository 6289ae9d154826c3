// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>

#include "backends/metal/objc.hpp"

namespace norite::metal {

/// Keeps a device's buffers in the GPU's reach as one set, where the system has such sets (macOS
/// 15): without it, Metal walks through all of them at each submit. May be shared between threads.
class Residency {
 public:
  Residency(Id device, Id queue);

  void add(Id buffer);
  void remove(Id buffer);
  /// Before work is submitted: what was added and removed counts from here on.
  void settle();

 private:
  std::mutex mutex_;
  Object set_;  // null where the system has none
  bool changed_ = false;
};

}  // namespace norite::metal
