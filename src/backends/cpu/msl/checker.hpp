// SPDX-License-Identifier: MIT
// Checked mode: judges every access of a kernel to memory that other threads may see.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/cpu/msl/findings.hpp"
#include "backends/cpu/msl/kernel_object.hpp"
#include "backends/cpu/msl/launch.hpp"
#include "backends/cpu/msl/shadow.hpp"
#include "msl/shim/abi.h"

namespace norite::cpu::msl {

struct GroupWork;

class Checker {
 public:
  /// The work, the launch and the arena of the one thread that runs the groups stay as they are.
  Checker(const GroupWork& work, const Launch& launch, std::byte* arena);

  /// Makes the shadows of all memory that the kernel may write.
  Result<void> prepare();

  /// Where the threads of a group stand when a barrier is to be passed.
  struct Barrier {
    struct Place {
      unsigned thread = 0;
      const void* site = nullptr;  // null: the thread has ended
    };
    unsigned scopes = 0;
    bool any = false, divergent = false;
    Place first, other;  // two that differ, where some do

    void add(unsigned thread, const void* site, unsigned scopes);
  };

  void begin_group(norite_msl::Uint3 position);
  void barrier(const Barrier& barrier);
  void simdgroup_barrier(unsigned simdgroup, unsigned scopes);
  /// False when the access must not happen.
  bool access(unsigned thread, const void* address, uint64_t bytes, unsigned kind,
              const void* site);

  [[nodiscard]] Result<void> report() const;

 private:
  struct Region {
    uintptr_t begin = 0;
    uint64_t bytes = 0;
    bool read_only = false;
    std::string name;

    [[nodiscard]] bool holds(uintptr_t address, uint64_t count) const noexcept {
      return address - begin < bytes && count <= bytes - (address - begin);
    }
  };
  // One access on its way through the checks.
  struct Access {
    unsigned thread;
    uintptr_t address;
    uint64_t bytes;
    bool write;
    bool atomic;
    uint32_t site;
  };

  [[nodiscard]] std::vector<Region> threadgroup_regions() const;
  static const Region* find(const std::vector<Region>& regions, const Access& access,
                            bool to_write);
  bool check_threadgroup(const Access& access);
  bool check_buffers(const Access& access);
  void note(Shadow& shadow, const Clock& clock, const Access& access, const Region& region);
  void found(std::string_view kind, const Access& access, const std::string& where);
  void refuse_outside(const Access& access);
  [[nodiscard]] std::string outside_of(const Access& access) const;
  [[nodiscard]] Part part_of(const Access& access) const;
  [[nodiscard]] norite_msl::Uint3 group_of(const Stamp& stamp) const;

  const GroupWork& work_;
  const Launch& launch_;
  uintptr_t arena_;
  std::vector<Region> buffers_;
  std::vector<Region> threadgroup_;
  std::vector<Shadow> buffer_shadows_;
  Shadow threadgroup_shadow_;
  Clock device_clock_{true};
  Clock threadgroup_clock_{false};
  norite_msl::Uint3 group_ = {};
  std::vector<uint32_t> group_starts_;  // first device epoch of each group so far
  Findings findings_;
};

}  // namespace norite::cpu::msl
