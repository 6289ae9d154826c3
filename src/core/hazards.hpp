// SPDX-License-Identifier: MIT
// Decides where a barrier is needed: the core of every backend's ordering.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/footprint.hpp"
#include "norite/kernel_registry.hpp"

namespace norite::core {

constexpr bool reads(Access access) noexcept {
  return access == Access::read || access == Access::read_write;
}
constexpr bool writes(Access access) noexcept {
  return access == Access::write || access == Access::read_write;
}

/// What one dispatch reads and writes.
struct Accesses {
  std::vector<Footprint> reads;
  std::vector<Footprint> writes;
};

/// Sets `accesses` to what a dispatch with these arguments touches.
void find_accesses(const Pipeline& pipeline, std::span<const Argument> arguments,
                   Accesses& accesses);

/// The same, where built-in kernels say what they do: their text may allow more.
[[nodiscard]] Accesses declared_accesses(const Pipeline& pipeline,
                                         std::span<const Argument> arguments);

/// Follows dispatches in recorded order. A dispatch needs a barrier when it writes what an earlier
/// one since the last barrier reads or writes, or reads what such a one writes.
class HazardTracker {
 public:
  /// Records a dispatch; true if a barrier must come before it.
  bool add(const Accesses& accesses);
  /// Forgets what came before: a barrier follows in any case.
  void fence() { ++barriers_; }

 private:
  struct Open {
    Accesses accesses;
    int64_t after_barrier = 0;
  };
  /// Sets met_ to what is open of the storages that `accesses` meets, reads first.
  void find_met(const Accesses& accesses);
  [[nodiscard]] bool conflicts(const Accesses& accesses) const;
  /// What the storage has met since the last barrier.
  Accesses& since_barrier(Open& open) const;

  // By storage: dispatches on different buffers never meet. What came before the last barrier stays
  // until its storage is met again, so that a barrier frees and takes no memory.
  std::unordered_map<const Storage*, Open> open_;
  std::vector<Open*> met_;  // by the dispatch that is being recorded
  int64_t barriers_ = 0;
};

}  // namespace norite::core
