// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <type_traits>

#include "backends/cpu/parallel.hpp"

namespace norite::cpu {

/// A body by value, or a reference to a larger one. Helpers find it in the line that calls them;
/// every pointer to what the caller has just written costs them the time of another move.
class SmallBody {
 public:
  template <class Body>
  explicit SmallBody(const Body& body) {
    if constexpr (std::is_trivially_copyable_v<Body> && sizeof(Body) <= sizeof(state_) &&
                  alignof(Body) <= alignof(void*)) {
      keep(body);
    } else {
      keep([&body](int64_t i) { body(i); });
    }
  }
  void operator()(int64_t i) const { call_(state_, i); }

 private:
  template <class Body>
  void keep(const Body& body) {
    new (state_) Body(body);
    call_ = [](const void* state, int64_t i) { (*static_cast<const Body*>(state))(i); };
  }

  void (*call_)(const void* state, int64_t i);
  alignas(void*) std::byte state_[4 * sizeof(void*)] = {};
};

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
  /// help, and while another call is under way, be it further up on the same thread. From `beside`
  /// on there is what the body reads of the caller's stack, if that is known.
  template <class Body>
  void parallel_for(int64_t count, const Body& body, const void* beside = nullptr) {
    run(count, SmallBody(body), beside);
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
  static void share(std::span<Helper> helpers, int64_t count, const SmallBody& body,
                    const void* beside);
  void run(int64_t count, const SmallBody& body, const void* beside);

  State* state_;  // belongs to this and to all invited helpers, which may leave later
};

}  // namespace norite::cpu
