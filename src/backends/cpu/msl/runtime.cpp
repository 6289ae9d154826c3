// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/runtime.hpp"

#include "backends/cpu/msl/group_runner.hpp"

namespace norite::cpu::msl {

// What a kernel calls goes to the runner of the OS thread that it runs on.
struct Services {
  static void threadgroup_barrier(unsigned scopes, const void* site) {
    GroupRunner::running_->barrier(scopes, site);
  }
  static void simdgroup_barrier(unsigned scopes, const void* site) {
    GroupRunner::running_->meet(nullptr, scopes, site);
  }
  static unsigned exchange(void* value, unsigned bytes, norite_msl::LaneExchange exchange,
                           const void* site) {
    return GroupRunner::running_->exchange(value, bytes, exchange, site);
  }
  static void* threadgroup_memory(norite_msl::ThreadgroupVariable* variable, unsigned long bytes,
                                  unsigned long alignment) {
    return GroupRunner::running_->variable(*variable, bytes, alignment);
  }
  static void poll() { GroupRunner::running_->poll(); }
  static const norite_msl::ThreadPlace* place() { return &GroupRunner::running_->strand_->place; }
  // Objects also run code of their own while they are attached.
  static void access(const void* address, unsigned long bytes, unsigned kind, const void* site) {
    if (GroupRunner::running_ != nullptr && GroupRunner::running_->work_->checker != nullptr) {
      GroupRunner::running_->access(address, bytes, kind, site);
    }
  }
};

const norite_msl::Runtime& runtime() {
  static_assert(sizeof(std::atomic<unsigned>) == sizeof(unsigned));
  static const norite_msl::Runtime table = {
      .threadgroup_barrier = Services::threadgroup_barrier,
      .simdgroup_barrier = Services::simdgroup_barrier,
      .exchange = Services::exchange,
      .threadgroup_memory = Services::threadgroup_memory,
      .cancelling = reinterpret_cast<const volatile unsigned*>(&Cancellation::cancelling()),
      .poll = Services::poll,
      .access = Services::access,
      .place = Services::place,
  };
  return table;
}

}  // namespace norite::cpu::msl
