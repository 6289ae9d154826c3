// SPDX-License-Identifier: MIT
#include "core/hazards.hpp"

#include <algorithm>
#include <bit>

#include "core/builtin_kernels.hpp"
#include "core/pipeline.hpp"

namespace norite::core {

namespace {

void add_access(const View& view, Access access, Accesses& accesses) {
  const Footprint touched = footprint(view);
  if (reads(access)) accesses.reads.push_back(touched);
  if (writes(access)) accesses.writes.push_back(touched);
}

}  // namespace

void find_accesses(const Pipeline& pipeline, std::span<const Argument> arguments,
                   Accesses& accesses) {
  accesses.reads.clear();
  accesses.writes.clear();
  const auto& parameters = pipeline.state()->parameters();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].view()) continue;
    add_access(arguments[i].view(), parameters[i].access, accesses);
  }
}

Accesses declared_accesses(const Pipeline& pipeline, std::span<const Argument> arguments) {
  const BuiltinKernel* const builtin = find_builtin(pipeline.name());
  Accesses accesses;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].view()) continue;
    add_access(arguments[i].view(), declared_access(builtin, pipeline.parameters(), i), accesses);
  }
  return accesses;
}

size_t HazardTracker::slot_of(const Storage* storage) const {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
  const size_t mask = slots_.size() - 1;
  size_t slot = reinterpret_cast<uintptr_t>(storage) * kGolden >> 32 & mask;
  while (slots_[slot].after_barrier == barriers_ && slots_[slot].storage != storage) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

HazardTracker::Open HazardTracker::since_barrier(const Storage* storage) const {
  const Open& open = slots_[slot_of(storage)];
  return open.after_barrier == barriers_ ? open : Open{};
}

bool HazardTracker::meets(const Chain& chain, const Footprint& one) const {
  for (int32_t i = chain.last; i >= 0; i = touched_[static_cast<size_t>(i)].before) {
    if (may_overlap(touched_[static_cast<size_t>(i)].footprint, one)) return true;
  }
  return false;
}

bool HazardTracker::conflicts(const Accesses& accesses) const {
  for (const Footprint& read : accesses.reads) {
    if (meets(since_barrier(read.storage).writes, read)) return true;
  }
  for (const Footprint& write : accesses.writes) {
    const Open before = since_barrier(write.storage);
    if (meets(before.writes, write) || meets(before.reads, write)) return true;
  }
  return false;
}

void HazardTracker::make_room(size_t storages) {
  constexpr size_t kFewest = 16;
  if (2 * (used_ + storages) <= slots_.size()) return;
  std::vector<Open> before(std::bit_ceil(std::max(4 * (used_ + storages), kFewest)));
  before.swap(slots_);
  for (const Open& open : before) {
    if (open.after_barrier == barriers_) slots_[slot_of(open.storage)] = open;
  }
}

HazardTracker::Open& HazardTracker::open(const Storage* storage) {
  Open& open = slots_[slot_of(storage)];
  if (open.after_barrier == barriers_) return open;
  ++used_;
  return open = {.storage = storage, .after_barrier = barriers_, .reads = {}, .writes = {}};
}

// Among very many footprints of one storage the last one grows over all that follow: a barrier too
// many now and then, but time that grows with the number of dispatches and no faster.
void HazardTracker::insert(Chain& chain, const Footprint& one) {
  constexpr int32_t kMost = 256;
  if (chain.length < kMost) {
    touched_.push_back({one, chain.last});
    chain = {static_cast<int32_t>(touched_.size() - 1), chain.length + 1};
    return;
  }
  Footprint& last = touched_[static_cast<size_t>(chain.last)].footprint;
  last.begin = std::min(last.begin, one.begin);
  last.end = std::max(last.end, one.end);
  last.run = last.end - last.begin;
  last.pitch = 0;
}

bool HazardTracker::add(const Accesses& accesses) {
  make_room(accesses.reads.size() + accesses.writes.size());
  const bool barrier = conflicts(accesses);
  if (barrier) fence();
  for (const Footprint& read : accesses.reads) insert(open(read.storage).reads, read);
  for (const Footprint& write : accesses.writes) insert(open(write.storage).writes, write);
  return barrier;
}

void HazardTracker::fence() {
  ++barriers_;
  used_ = 0;
  touched_.clear();
}

}  // namespace norite::core
