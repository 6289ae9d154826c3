// SPDX-License-Identifier: MIT
// What a compiled kernel and the executor that runs it agree on. Included by both: by the lowered
// kernel text, where no system header exists, and by the host.
#pragma once

namespace norite_msl {

constexpr unsigned kSimdWidth = 32;
constexpr unsigned kMaxBuffers = 31;           // Metal's buffer argument table
constexpr unsigned kMaxThreadgroupSlots = 31;  // [[threadgroup(n)]]
constexpr unsigned kMaxExchangeBytes = 64;     // the largest value a lane hands to another

struct Uint3 {
  unsigned x, y, z;
};

/// Where one thread stands.
struct ThreadPlace {
  Uint3 position_in_grid;
  Uint3 position_in_group;
  Uint3 group_position;
  Uint3 group_size;  // of this group: smaller at a ragged edge
  Uint3 dispatch_group_size;
  Uint3 groups;
  Uint3 grid_size;
  unsigned index_in_group;
  unsigned lane;
  unsigned simdgroup;
  unsigned simdgroups;
};

/// What is bound, by index; null where nothing is.
struct Arguments {
  void* buffer[kMaxBuffers];
  void* threadgroup[kMaxThreadgroupSlots];
};

using EntryFunction = void (*)(const ThreadPlace*, const Arguments*);

/// A `threadgroup` variable inside a function. Its place in the group's memory is chosen at first
/// use and is then the same for every group; 0 means not chosen yet, else offset + 1.
struct ThreadgroupVariable {
  unsigned place;
};

/// Turns what the active lanes brought into what each takes away. `slots` holds 32 values,
/// kMaxExchangeBytes apart; bit i of `active` says that lane i takes part.
using LaneExchange = void (*)(unsigned char* slots, unsigned active);

enum MemoryAccess : unsigned { kRead = 0, kWrite = 1, kAtomic = 2 };

/// Bits of mem_flags as the executor sees them.
enum MemoryScope : unsigned { kDeviceMemory = 1, kThreadgroupMemory = 2 };

/// The executor's services. `site` is the address of the call in the kernel: lanes meet only where
/// they called from the same place.
struct Runtime {
  void (*threadgroup_barrier)(unsigned scopes, const void* site);
  void (*simdgroup_barrier)(unsigned scopes, const void* site);
  /// `value` is replaced by what the exchange leaves in the lane's slot. Returns the active lanes.
  unsigned (*exchange)(void* value, unsigned bytes, LaneExchange exchange, const void* site);
  void* (*threadgroup_memory)(ThreadgroupVariable* variable, unsigned long bytes,
                              unsigned long alignment);
  /// Set while some dispatch of the process is being cancelled; loops then call `poll`, which does
  /// not return to a cancelled kernel.
  const volatile unsigned* cancelling;
  void (*poll)();
  /// Checked mode: called before every access to memory that other threads may see.
  void (*access)(const void* address, unsigned long bytes, unsigned kind, const void* site);
  /// Where the calling thread stands.
  const ThreadPlace* (*place)();
};

/// The one kernel of a compiled object.
struct Entry {
  EntryFunction run;
  void (*attach)(const Runtime*);
  /// Bytes that must be there behind each buffer: the size of what a reference or one element of
  /// a pointer names; 0 for an index the kernel does not use.
  unsigned long buffer_bytes[kMaxBuffers];
};

}  // namespace norite_msl
