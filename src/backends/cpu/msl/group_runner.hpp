// SPDX-License-Identifier: MIT
// Runs the threads of one threadgroup on one OS thread.
//
// Threads that never wait run one after the other on one strand, without a switch. Where a thread
// waits, the next one starts on a strand of its own, and from then on each wait is one jump to the
// next thread that can go on. The lanes of a simdgroup are taken together: once each of them waits
// or has ended, those that wait for each other at the lowest address of the code go on. Lanes that
// took a branch, or stayed in a loop, thereby meet the others again behind it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "backends/cpu/msl/cancellation.hpp"
#include "backends/cpu/msl/fault_guard.hpp"
#include "backends/cpu/msl/kernel_object.hpp"
#include "backends/cpu/msl/strands.hpp"
#include "msl/shim/abi.h"

namespace norite::cpu::msl {

class Checker;

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxSimdgroups = kMaxThreads / norite_msl::kSimdWidth;
/// Variables lie at the start of a group's memory, slots behind them.
constexpr size_t kSlotsOffset = Variables::kSpan;
constexpr size_t kArenaBytes = kSlotsOffset + 2 * kMaxThreadgroupBytes;

/// What the groups of one dispatch have in common.
struct GroupWork {
  const KernelObject* object = nullptr;
  norite_msl::Arguments arguments = {};  // without threadgroup slots: those differ by OS thread
  std::array<uint32_t, norite_msl::kMaxThreadgroupSlots> slot_offset = {};
  std::array<uint32_t, norite_msl::kMaxThreadgroupSlots> slot_bytes = {};  // 0: not bound
  uint32_t slot_bytes_in_sum = 0;
  norite_msl::Uint3 threads = {};  // of a group that is not at a ragged edge
  norite_msl::Uint3 groups = {};
  norite_msl::Uint3 grid = {};
  const Cancellation* cancellation = nullptr;
  Checker* checker = nullptr;  // in checked mode
};

class GroupRunner {
 public:
  enum class Outcome {
    finished,
    cancelled,
    no_threadgroup_memory,  // variables and slots together pass the limit
    refused,                // the checker forbade an access
    faulted,                // see fault()
  };

  static GroupRunner& of_this_thread();

  GroupRunner();
  ~GroupRunner();
  GroupRunner(const GroupRunner&) = delete;
  GroupRunner& operator=(const GroupRunner&) = delete;

  /// The dispatch whose groups come next. False when there is no memory.
  bool begin(const GroupWork& work);
  Outcome run(norite_msl::Uint3 group_position);
  /// The thread that ended the group, when it was not finished.
  [[nodiscard]] unsigned stopped_thread() const noexcept { return thread_; }
  /// What it did, when it faulted.
  [[nodiscard]] const Fault& fault() const noexcept { return fault_; }
  [[nodiscard]] std::byte* arena() const noexcept { return arena_; }

 private:
  friend struct Services;

  static constinit thread_local GroupRunner* running_;  // the one whose kernel runs here

  // What a waiting thread leaves behind.
  struct Waiting {
    Strand* strand;
    const void* site;
    norite_msl::LaneExchange exchange;  // null at a barrier
    unsigned scopes;
  };
  // Lanes as bits. A lane in none of `ready`, `meeting` and `barrier` runs or has ended.
  struct Simdgroup {
    uint32_t ready;
    uint32_t fresh;    // of the ready ones: not started yet
    uint32_t meeting;  // at an exchange or a simdgroup barrier
    uint32_t barrier;  // at a threadgroup barrier
    const void* site;  // where the first of the meeting lanes waits
    bool scattered;    // and others wait elsewhere
  };
  static constexpr unsigned kNone = kMaxThreads;

  void barrier(unsigned scopes, const void* site);
  void meet(norite_msl::LaneExchange change, unsigned scopes, const void* site);
  unsigned exchange(void* value, unsigned bytes, norite_msl::LaneExchange change, const void* site);
  void* variable(norite_msl::ThreadgroupVariable& variable, uint64_t bytes, uint64_t alignment);
  void poll();
  void access(const void* address, uint64_t bytes, unsigned kind, const void* site);

  void set_group(norite_msl::Uint3 group_position);
  void start_thread();
  void run_threads();
  unsigned next_thread();
  void complete_meeting(Simdgroup& simdgroup);
  bool release_barrier();
  void check_barrier();
  [[nodiscard]] bool is_fresh(unsigned thread) const;
  void suspend();
  void switch_to(unsigned thread);
  void enter_kernel() noexcept { guard_.enter(*strand_); }
  void leave_kernel(const void* site);
  [[noreturn]] void stop(Outcome outcome);
  [[noreturn]] void land();

  const GroupWork* work_ = nullptr;
  unsigned thread_ = 0;  // the running thread, by its index in the group
  Strand* strand_ = nullptr;
  unsigned simdgroup_ = 0;
  unsigned simdgroups_ = 0;
  unsigned active_ = 0;  // lanes of the meeting that was completed last
  Outcome outcome_ = Outcome::finished;
  Fault fault_;
  norite_msl::Arguments arguments_ = {};
  norite_msl::ThreadPlace place_ = {};  // of the thread that starts next
  std::byte* arena_ = nullptr;
  Strands strands_;
  FaultGuard guard_;
  std::array<Simdgroup, kMaxSimdgroups> simdgroup_state_;
  std::array<Waiting, kMaxThreads> waiting_;
  // One simdgroup at a time has values here: it moves on only when no lane waits in an exchange.
  alignas(
      64) std::array<unsigned char, norite_msl::kSimdWidth * norite_msl::kMaxExchangeBytes> slots_;
};

}  // namespace norite::cpu::msl
