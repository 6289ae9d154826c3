// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/group_runner.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "backends/cpu/msl/checker.hpp"
#include "backends/cpu/msl/runtime.hpp"

namespace norite::cpu::msl {

using norite_msl::kMaxExchangeBytes;
using norite_msl::kSimdWidth;
using norite_msl::Uint3;

namespace {

// What the executor may use of a kernel's stack; reports of checked mode take the most.
constexpr size_t kExecutorStackBytes = size_t{16} << 10;

bool cancelling() { return Cancellation::cancelling().load(std::memory_order_relaxed) != 0; }

// Most values are one word: no call for those.
void copy_value(void* to, const void* from, unsigned bytes) {
  if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else {
    std::memcpy(to, from, bytes);
  }
}

// Lanes of simdgroup `index` that a group of so many threads has.
uint32_t lanes_of(unsigned index, unsigned threads) {
  const unsigned left = threads - index * kSimdWidth;
  return left >= kSimdWidth ? ~uint32_t{0} : (uint32_t{1} << left) - 1;
}

template <class Object>
bool lies_in(const Object& object, const void* address) {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(&object) <
         sizeof object;
}

Uint3 edge_size(Uint3 position, Uint3 threads, Uint3 grid) {
  return {std::min(threads.x, grid.x - position.x * threads.x),
          std::min(threads.y, grid.y - position.y * threads.y),
          std::min(threads.z, grid.z - position.z * threads.z)};
}

// The place of the thread behind this one in its group.
void step(norite_msl::ThreadPlace& place) {
  ++place.index_in_group;
  place.lane = place.index_in_group % kSimdWidth;
  place.simdgroup = place.index_in_group / kSimdWidth;
  ++place.position_in_grid.x;
  if (++place.position_in_group.x < place.group_size.x) return;
  place.position_in_grid.x -= place.group_size.x;
  place.position_in_group.x = 0;
  ++place.position_in_grid.y;
  if (++place.position_in_group.y < place.group_size.y) return;
  place.position_in_grid.y -= place.group_size.y;
  place.position_in_group.y = 0;
  ++place.position_in_grid.z;
  ++place.position_in_group.z;
}

}  // namespace

constinit thread_local GroupRunner* GroupRunner::running_ = nullptr;

GroupRunner& GroupRunner::of_this_thread() {
  thread_local const auto runner = std::make_unique<GroupRunner>();
  return *runner;
}

GroupRunner::GroupRunner()
    : strands_(
          kMaxThreads, [](void* self) { static_cast<GroupRunner*>(self)->run_threads(); }, this),
      guard_([](void* self) { static_cast<GroupRunner*>(self)->land(); }, this) {}

GroupRunner::~GroupRunner() {
  if (arena_ != nullptr) ::munmap(arena_, kArenaBytes);
}

bool GroupRunner::begin(const GroupWork& work) {
  if (!strands_.reserve()) return false;
  if (arena_ == nullptr) {
    void* memory =
        ::mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    arena_ = static_cast<std::byte*>(memory);
  }
  work_ = &work;
  arguments_ = work.arguments;
  for (size_t slot = 0; slot < work.slot_bytes.size(); ++slot) {
    if (work.slot_bytes[slot] == 0) continue;
    arguments_.threadgroup[slot] = arena_ + kSlotsOffset + work.slot_offset[slot];
  }
  return true;
}

GroupRunner::Outcome GroupRunner::run(Uint3 group_position) {
  set_group(group_position);
  outcome_ = Outcome::finished;
  GroupRunner* outer = std::exchange(running_, this);
  thread_ = next_thread();
  strand_ = &strands_.take();
  Strands::jump(strands_.home(), *strand_);
  running_ = outer;
  if (outcome_ != Outcome::finished) strands_.abandon_all();
  return outcome_;
}

void GroupRunner::set_group(Uint3 group_position) {
  const GroupWork& work = *work_;
  const Uint3 size = edge_size(group_position, work.threads, work.grid);
  const unsigned threads = size.x * size.y * size.z;
  simdgroups_ = (threads + kSimdWidth - 1) / kSimdWidth;
  simdgroup_ = 0;
  for (unsigned i = 0; i < simdgroups_; ++i) {
    const uint32_t lanes = lanes_of(i, threads);
    simdgroup_state_[i] = {.ready = lanes,
                           .fresh = lanes,
                           .meeting = 0,
                           .barrier = 0,
                           .site = nullptr,
                           .scattered = false};
  }
  place_ = {
      .position_in_grid = {group_position.x * work.threads.x, group_position.y * work.threads.y,
                           group_position.z * work.threads.z},
      .position_in_group = {0, 0, 0},
      .group_position = group_position,
      .group_size = size,
      .dispatch_group_size = work.threads,
      .groups = work.groups,
      .grid_size = work.grid,
      .index_in_group = 0,
      .lane = 0,
      .simdgroup = 0,
      .simdgroups = simdgroups_};
  if (work.checker != nullptr) work.checker->begin_group(group_position);
}

// --- Which thread runs ------------------------------------------------------------------------

// What a strand does all its life: it runs one fresh thread after the other.
void GroupRunner::run_threads() {
  Strand& self = *strand_;
  for (;;) {
    start_thread();
    enter_kernel();
    work_->object->entry().run(&self.place, &arguments_);
    guard_.leave();

    const unsigned next = next_thread();
    if (next != kNone && is_fresh(next)) {
      thread_ = next;
      continue;
    }
    strands_.give_back(self);
    if (next == kNone) {
      Strands::jump(self, strands_.home());
    } else {
      switch_to(next);
    }
  }
}

// Threads start in the order of their index, so the place is one step behind the last one's.
void GroupRunner::start_thread() {
  simdgroup_state_[thread_ / kSimdWidth].fresh &= ~(uint32_t{1} << thread_ % kSimdWidth);
  strand_->place = place_;
  step(place_);
}

bool GroupRunner::is_fresh(unsigned thread) const {
  return (simdgroup_state_[thread / kSimdWidth].fresh >> thread % kSimdWidth & 1) != 0;
}

// kNone when all threads have ended.
unsigned GroupRunner::next_thread() {
  for (;;) {
    Simdgroup& simdgroup = simdgroup_state_[simdgroup_];
    if (simdgroup.ready != 0) {
      const auto lane = static_cast<unsigned>(std::countr_zero(simdgroup.ready));
      simdgroup.ready &= simdgroup.ready - 1;
      return simdgroup_ * kSimdWidth + lane;
    }
    if (simdgroup.meeting != 0) {
      complete_meeting(simdgroup);
    } else if (++simdgroup_ == simdgroups_) {
      if (!release_barrier()) return kNone;
      simdgroup_ = 0;
    }
  }
}

void GroupRunner::complete_meeting(Simdgroup& simdgroup) {
  const Waiting* threads = &waiting_[simdgroup_ * kSimdWidth];
  uint32_t lanes = simdgroup.meeting;
  auto first = static_cast<unsigned>(std::countr_zero(lanes));
  if (simdgroup.scattered) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      if (threads[lane].site < threads[first].site) first = lane;
    }
    lanes = 0;
    for (uint32_t left = simdgroup.meeting; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      if (threads[lane].site == threads[first].site) lanes |= uint32_t{1} << lane;
    }
  }
  if (threads[first].exchange != nullptr) {
    enter_kernel();
    threads[first].exchange(slots_.data(), lanes);
    guard_.leave();
  } else if (work_->checker != nullptr) {
    work_->checker->simdgroup_barrier(simdgroup_, threads[first].scopes);
  }
  active_ = lanes;
  simdgroup.meeting &= ~lanes;
  simdgroup.ready = lanes;
  // Those left behind are looked at one by one; so are those that join them.
  simdgroup.scattered = simdgroup.meeting != 0;
}

// False when nobody waits: the group is over. Threads that have ended hold nobody up.
bool GroupRunner::release_barrier() {
  bool waited = false;
  for (unsigned i = 0; i < simdgroups_; ++i) waited |= simdgroup_state_[i].barrier != 0;
  if (!waited) return false;
  if (cancelling()) poll();
  if (work_->checker != nullptr) check_barrier();
  for (unsigned i = 0; i < simdgroups_; ++i) {
    simdgroup_state_[i].ready = std::exchange(simdgroup_state_[i].barrier, 0);
  }
  return true;
}

void GroupRunner::check_barrier() {
  Checker::Barrier barrier;
  const unsigned threads = place_.group_size.x * place_.group_size.y * place_.group_size.z;
  for (unsigned thread = 0; thread < threads; ++thread) {
    const bool waits =
        (simdgroup_state_[thread / kSimdWidth].barrier >> thread % kSimdWidth & 1) != 0;
    barrier.add(thread, waits ? waiting_[thread].site : nullptr,
                waits ? waiting_[thread].scopes : 0);
  }
  work_->checker->barrier(barrier);
}

// The running thread waits; returns when it goes on.
void GroupRunner::suspend() {
  const unsigned self = thread_;
  const unsigned next = next_thread();
  if (next == self) {
    enter_kernel();
    return;
  }
  waiting_[self].strand = strand_;
  switch_to(next);
}

void GroupRunner::switch_to(unsigned thread) {
  Strand& from = *strand_;
  Strand& to = is_fresh(thread) ? strands_.take() : *waiting_[thread].strand;
  thread_ = thread;
  strand_ = &to;
  enter_kernel();  // here, not behind the jump: a call that is not the last one costs its return
  Strands::jump(from, to);
}

// The group's strands are left as they stand; none of them is ever switched to again.
void GroupRunner::stop(Outcome outcome) {
  guard_.leave();
  outcome_ = outcome;
  Strands::jump(*strand_, strands_.home());
  __builtin_unreachable();
}

// Where a thread goes on that has faulted: at the top of its strand.
void GroupRunner::land() {
  Strands::drop_frames(*strand_);
  fault_ = guard_.fault();
  stop(Outcome::faulted);
}

// Comes before what the executor does on a kernel's stack and cannot abandon half done. If the
// stack is to run out, it does so here.
inline void GroupRunner::leave_kernel(const void* site) {
  guard_.leave();
  if (strand_->room_below(__builtin_frame_address(0)) >= kExecutorStackBytes) return;
  fault_ = {.kind = Fault::Kind::stack,
            .instruction = reinterpret_cast<uintptr_t>(site) - 1};  // a site is behind its call
  stop(Outcome::faulted);
}

// --- What a kernel calls ----------------------------------------------------------------------

void GroupRunner::barrier(unsigned scopes, const void* site) {
  leave_kernel(site);
  Waiting& self = waiting_[thread_];
  self.site = site;
  self.exchange = nullptr;
  self.scopes = scopes;
  simdgroup_state_[simdgroup_].barrier |= uint32_t{1} << thread_ % kSimdWidth;
  suspend();
}

void GroupRunner::meet(norite_msl::LaneExchange change, unsigned scopes, const void* site) {
  leave_kernel(site);
  Waiting& self = waiting_[thread_];
  self.site = site;
  self.exchange = change;
  self.scopes = scopes;
  Simdgroup& simdgroup = simdgroup_state_[simdgroup_];
  if (simdgroup.meeting == 0) {
    simdgroup.site = site;
  } else {
    simdgroup.scattered |= simdgroup.site != site;
  }
  simdgroup.meeting |= uint32_t{1} << thread_ % kSimdWidth;
  suspend();
}

unsigned GroupRunner::exchange(void* value, unsigned bytes, norite_msl::LaneExchange change,
                               const void* site) {
  unsigned char* slot = &slots_[thread_ % kSimdWidth * kMaxExchangeBytes];
  copy_value(slot, value, bytes);
  meet(change, 0, site);
  copy_value(value, slot, bytes);
  return active_;
}

void* GroupRunner::variable(norite_msl::ThreadgroupVariable& variable, uint64_t bytes,
                            uint64_t alignment) {
  unsigned known = __atomic_load_n(&variable.place, __ATOMIC_ACQUIRE);
  if (known == 0) [[unlikely]] {
    leave_kernel(nullptr);
    Variables& variables = work_->object->variables();
    if (!variables.place(variable, bytes, alignment) ||
        variables.bytes() + work_->slot_bytes_in_sum > kMaxThreadgroupBytes) {
      stop(Outcome::no_threadgroup_memory);
    }
    enter_kernel();
    known = __atomic_load_n(&variable.place, __ATOMIC_RELAXED);
  }
  return arena_ + known - 1;
}

void GroupRunner::poll() {
  if (work_->cancellation->requested()) stop(Outcome::cancelled);
}

void GroupRunner::access(const void* address, uint64_t bytes, unsigned kind, const void* site) {
  leave_kernel(site);
  // A thread's own memory, and what the executor lent it: exchange slots, arguments, its place.
  const bool private_memory =
      strand_->owns(address) || lies_in(*this, address) || lies_in(*strand_, address) ||
      lies_in(Cancellation::cancelling(), address) || lies_in(runtime(), address);
  if (!private_memory && !work_->checker->access(thread_, address, bytes, kind, site)) {
    stop(Outcome::refused);
  }
  enter_kernel();
}

}  // namespace norite::cpu::msl
