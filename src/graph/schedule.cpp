// SPDX-License-Identifier: MIT
#include <algorithm>

#include "graph/program.hpp"

namespace norite::graph {

namespace {

struct Touched {
  core::Footprint footprint;
  int64_t stage = 0;  // of the last node that touches it
};

/// Footprints of one storage. Very many of them become one that covers them all: a later stage than
/// needed now and then, but time that grows with the number of nodes and no faster.
class TouchedBytes {
 public:
  [[nodiscard]] int64_t first_stage_after(const core::Footprint& one) const {
    int64_t stage = 0;
    for (const Touched& touched : touched_) {
      if (touched.stage >= stage && core::may_overlap(touched.footprint, one)) {
        stage = touched.stage + 1;
      }
    }
    return stage;
  }

  void add(const core::Footprint& one, int64_t stage) {
    constexpr size_t kMost = 64;
    for (Touched& touched : touched_) {
      if (same(touched.footprint, one)) {
        touched.stage = std::max(touched.stage, stage);
        return;
      }
    }
    touched_.push_back({one, stage});
    if (touched_.size() > kMost) merge();
  }

 private:
  static bool same(const core::Footprint& a, const core::Footprint& b) {
    return a.begin == b.begin && a.end == b.end && a.run == b.run && a.pitch == b.pitch;
  }

  void merge() {
    Touched all = touched_.front();
    for (const Touched& touched : touched_) {
      all.footprint.begin = std::min(all.footprint.begin, touched.footprint.begin);
      all.footprint.end = std::max(all.footprint.end, touched.footprint.end);
      all.stage = std::max(all.stage, touched.stage);
    }
    all.footprint.run = all.footprint.end - all.footprint.begin;
    all.footprint.pitch = 0;
    touched_.assign(1, all);
  }

  std::vector<Touched> touched_;
};

class Stages {
 public:
  /// The first stage that a node may run in.
  int64_t add(const Node& node) {
    if (node.command.fence_before) floor_ = last_ + 1;
    int64_t stage = floor_;
    for (const core::Footprint& read : node.accesses.reads) {
      stage = std::max(stage, writes_[read.storage].first_stage_after(read));
    }
    for (const core::Footprint& write : node.accesses.writes) {
      stage = std::max({stage, writes_[write.storage].first_stage_after(write),
                        reads_[write.storage].first_stage_after(write)});
    }
    for (const core::Footprint& read : node.accesses.reads) reads_[read.storage].add(read, stage);
    for (const core::Footprint& write : node.accesses.writes) {
      writes_[write.storage].add(write, stage);
    }
    last_ = std::max(last_, stage);
    return stage;
  }

 private:
  std::unordered_map<const core::Storage*, TouchedBytes> reads_, writes_;
  int64_t floor_ = 0;  // after the last fence
  int64_t last_ = 0;
};

}  // namespace

void schedule(Program& program, GraphReport& report) {
  Stages stages;
  std::vector<size_t> order(program.size());
  for (size_t i = 0; i < program.size(); ++i) {
    program[i].stage = stages.add(program[i]);
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return program[a].stage != program[b].stage ? program[a].stage < program[b].stage : a < b;
  });
  Program ordered;
  ordered.reserve(program.size());
  for (size_t i = 0; i < order.size(); ++i) {
    Node& node = program[order[i]];
    node.command.barrier_before = i > 0 && node.stage != ordered.back().stage;
    // A fence stands between two stages; which node of the second one has it means nothing.
    node.command.fence_before = false;
    if (i < order[i]) ++report.moved;
    ordered.push_back(std::move(node));
  }
  program = std::move(ordered);
}

}  // namespace norite::graph
