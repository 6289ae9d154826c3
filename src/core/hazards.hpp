// SPDX-License-Identifier: MIT
// Decides where a barrier is needed: the core of every backend's ordering.
#pragma once

#include <span>
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
  void fence();

 private:
  /// Footprints of one storage, each with the place of the one before it.
  struct Chain {
    int32_t last = -1;
    int32_t length = 0;
  };
  struct Touched {
    Footprint footprint;
    int32_t before;
  };
  struct Open {
    const Storage* storage = nullptr;
    int64_t after_barrier = -1;
    Chain reads, writes;
  };

  /// Where the storage is, or is to be.
  [[nodiscard]] size_t slot_of(const Storage* storage) const;
  [[nodiscard]] Open since_barrier(const Storage* storage) const;
  [[nodiscard]] bool meets(const Chain& chain, const Footprint& one) const;
  [[nodiscard]] bool conflicts(const Accesses& accesses) const;
  void make_room(size_t storages);
  Open& open(const Storage* storage);
  void insert(Chain& chain, const Footprint& one);

  // By storage: dispatches on different buffers never meet. A table by hash, at most half full, in
  // which what came before the last barrier counts as empty: a barrier takes no time, and no
  // memory.
  std::vector<Open> slots_;
  size_t used_ = 0;
  std::vector<Touched> touched_;  // since the last barrier
  int64_t barriers_ = 0;
};

}  // namespace norite::core
