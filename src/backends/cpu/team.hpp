// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "backends/cpu/parallel.hpp"

namespace norite::cpu {

/// Threads of a TBB arena that wait for the next small job. To hand one out and to learn that it
/// has ended, TBB moves some fifteen cache lines between cores, one after the other, which takes 1
/// to 4 µs; watching a single line takes two moves.
///
/// A helper is a task of the arena, so that there are no threads but TBB's. It is invited where
/// small jobs follow each other closely, and leaves when it has waited for `linger` in vain, which
/// is all the time of a core that it wastes, or when it is dismissed. What a helper has not begun
/// by the time that the caller is through with its own part, the caller does itself.
class Team {
 public:
  static constexpr std::chrono::microseconds kLinger{50};

  /// `members` counts the caller.
  explicit Team(int members, std::chrono::nanoseconds linger = kLinger);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// As cpu::parallel_for, which it leaves the work to when there is much, when nobody is there to
  /// help, and while another call is under way, be it further up on the same thread.
  template <class Body>
  void parallel_for(int64_t count, const Body& body) {
    share_body(body, [&](RangeCall call, void* context) { run(count, call, context); });
  }

  /// Calls work(), which gives TBB tasks for all threads, without helpers.
  void rest_during(const std::function<void()>& work);

  /// Sends helpers back to TBB.
  void dismiss() noexcept;
  /// Helpers that wait for a job.
  [[nodiscard]] int waiting() const noexcept;

 private:
  struct Helper;
  struct State;

  bool take() noexcept;
  void give_back() noexcept;
  static void share(std::span<Helper> helpers, int64_t count, RangeCall body, void* context);
  void run(int64_t count, RangeCall body, void* context);

  State* state_;  // belongs to this and to all invited helpers, which may leave later
};

}  // namespace norite::cpu
