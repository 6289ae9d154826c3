// SPDX-License-Identifier: MIT
// What dispatches must wait for, where more than barriers orders them.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/hazards.hpp"

namespace norite::core {

/// Remembers who touched which bytes, and when. A moment says how far things have come: a new one
/// is the beginning, and include() makes it the later of two.
template <class Moment>
class HazardHistory {
 public:
  /// The moment at which everything has ended that these accesses must wait for.
  [[nodiscard]] Moment before(const Accesses& accesses) const {
    Moment moment{};
    for (const Footprint& read : accesses.reads) {
      if (const Touched* touched = find(read)) include(touched->writes, read, moment);
    }
    for (const Footprint& write : accesses.writes) {
      if (const Touched* touched = find(write)) {
        include(touched->writes, write, moment);
        include(touched->reads, write, moment);
      }
    }
    return moment;
  }

  /// Adds accesses that end at a moment, which is after the one that they had to wait for.
  void add(const Accesses& accesses, const Moment& moment) {
    for (const Footprint& read : accesses.reads) insert(touched_[read.storage].reads, read, moment);
    for (const Footprint& write : accesses.writes) {
      Touched& touched = touched_[write.storage];
      forget_under(write, touched.reads);
      forget_under(write, touched.writes);
      insert(touched.writes, write, moment);
    }
  }

 private:
  struct Entry {
    Footprint footprint;
    Moment moment;
  };
  using Entries = std::vector<Entry>;
  struct Touched {
    Entries reads, writes;
  };

  [[nodiscard]] const Touched* find(const Footprint& one) const {
    const auto found = touched_.find(one.storage);
    return found == touched_.end() ? nullptr : &found->second;
  }

  static void include(const Entries& entries, const Footprint& one, Moment& moment) {
    for (const Entry& entry : entries) {
      if (may_overlap(entry.footprint, one)) moment.include(entry.moment);
    }
  }

  /// Who waits for the write has waited for what the write waited for.
  static void forget_under(const Footprint& write, Entries& entries) {
    if (write.pitch != 0) return;
    std::erase_if(entries, [&](const Entry& entry) {
      return write.begin <= entry.footprint.begin && entry.footprint.end <= write.end;
    });
  }

  static bool same(const Footprint& a, const Footprint& b) {
    return a.begin == b.begin && a.end == b.end && a.run == b.run && a.pitch == b.pitch;
  }

  /// Very many footprints of one storage become one that covers them all: a wait too many now and
  /// then, but time that grows with the number of dispatches and no faster.
  static void insert(Entries& entries, const Footprint& one, const Moment& moment) {
    constexpr size_t kMost = 64;
    for (Entry& entry : entries) {
      if (same(entry.footprint, one)) return entry.moment.include(moment);
    }
    entries.push_back({one, moment});
    if (entries.size() > kMost) entries.assign(1, merged(entries));
  }

  static Entry merged(const Entries& entries) {
    Entry all = entries.front();
    for (const Entry& entry : entries) {
      all.footprint.begin = std::min(all.footprint.begin, entry.footprint.begin);
      all.footprint.end = std::max(all.footprint.end, entry.footprint.end);
      all.moment.include(entry.moment);
    }
    all.footprint.run = all.footprint.end - all.footprint.begin;
    all.footprint.pitch = 0;
    return all;
  }

  std::unordered_map<const Storage*, Touched> touched_;
};

}  // namespace norite::core
