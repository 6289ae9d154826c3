// SPDX-License-Identifier: MIT
// Decides where a barrier is needed: the core of every backend's ordering.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/footprint.hpp"

namespace norite::core {

/// What one dispatch reads and writes.
struct Accesses {
  std::vector<Footprint> reads;
  std::vector<Footprint> writes;
};

/// Follows dispatches in recorded order. A dispatch needs a barrier when it writes what an earlier
/// one since the last barrier reads or writes, or reads what such a one writes.
class HazardTracker {
 public:
  /// Records a dispatch; true if a barrier must come before it.
  bool add(const Accesses& accesses);

 private:
  [[nodiscard]] bool conflicts(const Accesses& accesses) const;

  // Since the last barrier, by storage: dispatches on different buffers never meet.
  std::unordered_map<const Storage*, Accesses> open_;
};

}  // namespace norite::core
