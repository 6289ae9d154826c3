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

bool HazardTracker::conflicts(const Accesses& accesses) const {
  const auto earlier = [this](const Footprint& one) -> const Accesses* {
    const auto found = open_.find(one.storage);
    return found == open_.end() ? nullptr : &found->second;
  };
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
  if (barrier) open_.clear();
  for (const Footprint& read : accesses.reads) open_[read.storage].reads.push_back(read);
  for (const Footprint& write : accesses.writes) open_[write.storage].writes.push_back(write);
  return barrier;
}

}  // namespace norite::core
