// SPDX-License-Identifier: MIT
#include "cuda/ptx/races.hpp"

#include "cuda/ptx/kernel.hpp"

namespace norite::ptx {

namespace {

uint32_t warp_of(uint32_t thread) { return thread / kLanes; }

}  // namespace

void Races::reset(size_t shared_bytes) {
  reads_.assign(shared_bytes / kGrain + 1, {});
  writes_.assign(shared_bytes / kGrain + 1, {});
  barriers_ = 1;
}

bool Races::ordered(const Access& last, const Access& access) {
  if (last.barriers != access.barriers || (last.atomic && access.atomic)) return true;
  if (last.several_warps || warp_of(last.thread) != warp_of(access.thread)) return false;
  if (last.meetings != access.meetings) return true;
  return !last.several_threads && last.thread == access.thread;
}

bool Races::read(size_t place, size_t bytes, const Access& access) {
  for (size_t i = place / kGrain; i <= (place + bytes - 1) / kGrain; ++i) {
    if (!ordered(writes_[i], access)) return false;
    const Access last = reads_[i];
    reads_[i] = access;
    if (last.barriers != access.barriers) continue;
    reads_[i].atomic = last.atomic && access.atomic;
    const bool same_warp = warp_of(last.thread) == warp_of(access.thread);
    reads_[i].several_warps = last.several_warps || !same_warp;
    // Of one warp, those since its last meeting count.
    if (same_warp && last.meetings != access.meetings) continue;
    reads_[i].several_threads = last.several_threads || last.thread != access.thread;
  }
  return true;
}

bool Races::write(size_t place, size_t bytes, const Access& access) {
  for (size_t i = place / kGrain; i <= (place + bytes - 1) / kGrain; ++i) {
    if (!ordered(writes_[i], access) || !ordered(reads_[i], access)) return false;
    writes_[i] = access;
  }
  return true;
}

}  // namespace norite::ptx
