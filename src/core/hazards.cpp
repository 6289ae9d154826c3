// SPDX-License-Identifier: MIT
#include "core/hazards.hpp"

#include <algorithm>

namespace norite::core {

namespace {

bool meets_any(const Footprint& one, const std::vector<Footprint>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Footprint& other) { return may_overlap(one, other); });
}

}  // namespace

const Accesses* HazardTracker::earlier(const Footprint& one) const {
  const auto found = open_.find(one.storage);
  const bool open = found != open_.end() && found->second.after_barrier == barriers_;
  return open ? &found->second.accesses : nullptr;
}

Accesses& HazardTracker::now(const Footprint& one) {
  Open& open = open_[one.storage];
  if (open.after_barrier != barriers_) {
    open.accesses.reads.clear();
    open.accesses.writes.clear();
    open.after_barrier = barriers_;
  }
  return open.accesses;
}

bool HazardTracker::conflicts(const Accesses& accesses) const {
  for (const Footprint& read : accesses.reads) {
    const Accesses* before = earlier(read);
    if (before != nullptr && meets_any(read, before->writes)) return true;
  }
  for (const Footprint& write : accesses.writes) {
    const Accesses* before = earlier(write);
    if (before != nullptr &&
        (meets_any(write, before->writes) || meets_any(write, before->reads))) {
      return true;
    }
  }
  return false;
}

bool HazardTracker::add(const Accesses& accesses) {
  const bool barrier = conflicts(accesses);
  if (barrier) ++barriers_;
  for (const Footprint& read : accesses.reads) now(read).reads.push_back(read);
  for (const Footprint& write : accesses.writes) now(write).writes.push_back(write);
  return barrier;
}

}  // namespace norite::core
