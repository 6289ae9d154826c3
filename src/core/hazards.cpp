// SPDX-License-Identifier: MIT
#include "core/hazards.hpp"

#include <algorithm>

#include "core/builtin_kernels.hpp"

namespace norite::core {

namespace {

bool meets_any(const Footprint& one, const std::vector<Footprint>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Footprint& other) { return may_overlap(one, other); });
}

// Among very many footprints of one storage the last one grows over all that follow: a barrier too
// many now and then, but time that grows with the number of dispatches and no faster.
void insert(std::vector<Footprint>& footprints, const Footprint& one) {
  constexpr size_t kMost = 256;
  if (footprints.size() < kMost) {
    footprints.push_back(one);
    return;
  }
  Footprint& last = footprints.back();
  last.begin = std::min(last.begin, one.begin);
  last.end = std::max(last.end, one.end);
  last.run = last.end - last.begin;
  last.pitch = 0;
}

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
  const auto& parameters = pipeline.parameters();
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

Accesses& HazardTracker::since_barrier(Open& open) const {
  if (open.after_barrier != barriers_) {
    open.accesses.reads.clear();
    open.accesses.writes.clear();
    open.after_barrier = barriers_;
  }
  return open.accesses;
}

void HazardTracker::find_met(const Accesses& accesses) {
  met_.clear();
  for (const Footprint& read : accesses.reads) met_.push_back(&open_[read.storage]);
  for (const Footprint& write : accesses.writes) met_.push_back(&open_[write.storage]);
}

bool HazardTracker::conflicts(const Accesses& accesses) const {
  auto met = met_.begin();
  for (const Footprint& read : accesses.reads) {
    if (meets_any(read, since_barrier(**met++).writes)) return true;
  }
  for (const Footprint& write : accesses.writes) {
    const Accesses& before = since_barrier(**met++);
    if (meets_any(write, before.writes) || meets_any(write, before.reads)) return true;
  }
  return false;
}

bool HazardTracker::add(const Accesses& accesses) {
  find_met(accesses);
  const bool barrier = conflicts(accesses);
  if (barrier) ++barriers_;
  auto met = met_.begin();
  for (const Footprint& read : accesses.reads) insert(since_barrier(**met++).reads, read);
  for (const Footprint& write : accesses.writes) insert(since_barrier(**met++).writes, write);
  return barrier;
}

}  // namespace norite::core
