// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/storage.hpp"
#include "graph/program.hpp"
#include "graph/rebase.hpp"

namespace norite::graph {

namespace {

constexpr int64_t kAlignment = 256;  // as pools align: kernels were planned for it

/// An intermediate: from which stage to which it is needed, and where it comes to lie.
struct Slot {
  size_t part = 0;  // of the graph
  int64_t first = 0, last = 0;
  size_t order = 0;  // of first uses, in the graph
  int64_t bytes = 0;
  int64_t offset = 0;
};

using Slots = std::unordered_map<const core::Storage*, Slot>;

/// Free ranges of the arena by offset, none of them touching another; beyond the end all is free.
class Arena {
 public:
  /// The lowest place that is large enough.
  int64_t take(int64_t bytes) {
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      const auto [offset, size] = *range;
      if (size < bytes) continue;
      free_.erase(range);
      if (size > bytes) free_.emplace(offset + bytes, size - bytes);
      return offset;
    }
    // What is free at the end grows.
    int64_t offset = end_;
    if (!free_.empty() && free_.rbegin()->first + free_.rbegin()->second == end_) {
      offset = free_.rbegin()->first;
      free_.erase(offset);
    }
    end_ = offset + bytes;
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace(offset, bytes);
  }

  [[nodiscard]] int64_t bytes() const noexcept { return end_; }

 private:
  std::map<int64_t, int64_t> free_;  // offset to size
  int64_t end_ = 0;
};

/// Nodes that are tied together are of one part of the graph.
class Parts {
 public:
  explicit Parts(size_t nodes) : tied_to_(nodes) {
    std::iota(tied_to_.begin(), tied_to_.end(), size_t{0});
  }
  void tie(size_t node, size_t other) { tied_to_[of(node)] = of(other); }

  /// The part that a node belongs to.
  [[nodiscard]] size_t of(size_t node) {
    while (tied_to_[node] != node) node = tied_to_[node] = tied_to_[tied_to_[node]];
    return node;
  }

 private:
  std::vector<size_t> tied_to_;
};

/// Fences tie nodes together, and memory that one of them writes. All are one part where none runs
/// at a pace of its own.
Slots find_slots(const Program& program, bool reordered) {
  const Uses uses = find_uses(program);
  Parts parts(program.size());
  Slots slots;
  bool one_part = !reordered;
  for (size_t i = 0; i < program.size(); ++i) {
    const Node& node = program[i];
    one_part = one_part || node.command.fence_before;
    for (const Argument& argument : node.command.arguments) {
      if (!argument.view()) continue;
      const core::Storage* const storage = argument.view().buffer().storage().get();
      const Use& use = uses.at(storage);
      if (use.writes > 0) parts.tie(i, use.first_user);
      if (!use.intermediate()) continue;
      Slot& slot = slots[storage];
      if (slot.bytes == 0) {
        slot.order = slots.size();
        slot.first = node.stage;
        slot.bytes = (storage->size_bytes() + kAlignment - 1) / kAlignment * kAlignment;
      }
      slot.last = node.stage;
    }
  }
  for (auto& [storage, slot] : slots) {
    slot.part = one_part ? 0 : parts.of(uses.at(storage).first_user);
  }
  return slots;
}

/// Places slots in the order of their first stage; one may lie where another of the same part ended
/// a stage before. Other parts run at their own pace, and would have to wait.
int64_t place(Slots& slots) {
  std::vector<Slot*> order;
  order.reserve(slots.size());
  for (auto& [storage, slot] : slots) order.push_back(&slot);
  // Sizes decide within a stage, then the order of the graph, so that the plan does not depend on
  // addresses and chains of one part find their own memory again.
  std::sort(order.begin(), order.end(), [](const Slot* a, const Slot* b) {
    return a->part != b->part     ? a->part < b->part
           : a->first != b->first ? a->first < b->first
           : a->bytes != b->bytes ? a->bytes > b->bytes
                                  : a->order < b->order;
  });
  int64_t begin = 0;  // of a part's memory
  Arena arena;
  std::multimap<int64_t, Slot*> live;  // by last stage
  for (size_t i = 0; i < order.size(); ++i) {
    Slot* const slot = order[i];
    if (i > 0 && slot->part != order[i - 1]->part) {
      begin += std::exchange(arena, {}).bytes();
      live.clear();
    }
    while (!live.empty() && live.begin()->first < slot->first) {
      const Slot& ended = *live.begin()->second;
      arena.give_back(ended.offset - begin, ended.bytes);
      live.erase(live.begin());
    }
    slot->offset = begin + arena.take(slot->bytes);
    live.emplace(slot->last, slot);
  }
  return begin + arena.bytes();
}

}  // namespace

void plan_memory(const Device& device, Program& program, bool reordered, GraphReport& report) {
  Slots slots = find_slots(program, reordered);
  int64_t separate = 0;
  for (const auto& [storage, slot] : slots) separate += slot.bytes;
  const int64_t together = place(slots);
  if (together == separate) return;  // nothing to save
  const auto arena = device.empty(DType::u8, {together});
  if (!arena) {
    report.arena_error = arena.error().message;
    return;
  }
  for (Node& node : program) {
    for (Argument& argument : node.command.arguments) {
      if (!argument.view()) continue;
      const auto slot = slots.find(argument.view().buffer().storage().get());
      if (slot != slots.end()) argument = rebase(argument.view(), *arena, slot->second.offset);
    }
  }
  report.intermediate_bytes = separate;
  report.arena_bytes = together;
}

}  // namespace norite::graph
