// SPDX-License-Identifier: MIT
// Who touched each byte last, and whether that was ordered before what happens now.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace norite::cpu::msl {

/// One access: when, by whom, from where.
struct Stamp {
  static constexpr unsigned kThreadBits = 10;

  uint32_t epoch = 0;  // 0: there was none
  uint32_t who = 0;    // thread in its group, and above it the epoch of its simdgroup
  uint32_t what = 0;   // whether it was atomic, and above that the place in the code

  [[nodiscard]] unsigned thread() const noexcept { return who & ((1U << kThreadBits) - 1); }
  [[nodiscard]] unsigned simdgroup() const noexcept { return thread() / 32; }
  [[nodiscard]] bool atomic() const noexcept { return (what & 1) != 0; }
  [[nodiscard]] uint32_t site() const noexcept { return what >> 1; }
};

/// Counts what orders accesses to one kind of memory. Groups run one after the other here, so the
/// epochs of a group are consecutive, and an epoch from before its first is another group's.
class Clock {
 public:
  /// Whether accesses of different groups can meet: so for buffers, not for threadgroup memory.
  explicit Clock(bool groups_meet) : groups_meet_(groups_meet) {}

  void begin_group() noexcept { first_ = ++epoch_; }
  void barrier() noexcept { ++epoch_; }
  void simdgroup_barrier(unsigned simdgroup) noexcept { ++simdgroup_epoch_[simdgroup]; }

  [[nodiscard]] uint32_t first() const noexcept { return first_; }
  [[nodiscard]] Stamp now(unsigned thread, uint32_t site, bool atomic) const noexcept {
    return {epoch_, thread | simdgroup_epoch_[thread / 32] << Stamp::kThreadBits,
            site << 1 | (atomic ? 1 : 0)};
  }
  /// Whether nothing orders an earlier access before one of now, and they are not both atomic.
  [[nodiscard]] bool collide(const Stamp& earlier, const Stamp& now) const noexcept {
    if (earlier.epoch == 0 || (earlier.atomic() && now.atomic())) return false;
    if (earlier.epoch < first_) return groups_meet_;
    if (earlier.epoch != now.epoch || earlier.thread() == now.thread()) return false;
    return earlier.simdgroup() != now.simdgroup() ||
           earlier.who >> Stamp::kThreadBits == now.who >> Stamp::kThreadBits;
  }

 private:
  bool groups_meet_;
  uint32_t epoch_ = 0;
  uint32_t first_ = 0;
  std::array<uint32_t, 32> simdgroup_epoch_ = {};
};

/// The history of a range of memory, byte by byte. Bytes that nobody touches cost address space
/// only.
class Shadow {
 public:
  struct Collision {
    Stamp earlier;
    bool earlier_wrote = false;
  };
  struct Outcome {
    std::optional<Collision> collision;
    bool any_written = false;  // before, in this group
  };

  Shadow() = default;
  ~Shadow();
  Shadow(Shadow&& other) noexcept;
  Shadow& operator=(Shadow&&) = delete;

  /// Covers [begin, begin + bytes). False when there is not that much address space.
  bool cover(uintptr_t begin, uint64_t bytes);

  /// Notes an access, as far as its bytes are covered.
  Outcome note(uintptr_t address, uint64_t bytes, bool write, const Stamp& now, const Clock& clock);

 private:
  // Enough of a byte's past to miss no collision. Readers of the running epoch: the latest, another
  // lane of its simdgroup, and a lane of another simdgroup; and a reader of an earlier group.
  struct Cell {
    Stamp writer, latest, peer, elsewhere, foreign;
  };
  static std::optional<Collision> read(Cell& cell, const Stamp& now, const Clock& clock);
  static std::optional<Collision> write(Cell& cell, const Stamp& now, const Clock& clock);

  uintptr_t begin_ = 0;
  uint64_t bytes_ = 0;
  Cell* cells_ = nullptr;
};

}  // namespace norite::cpu::msl
