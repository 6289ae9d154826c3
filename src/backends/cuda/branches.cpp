// SPDX-License-Identifier: MIT
#include "backends/cuda/branches.hpp"

#include <algorithm>
#include <array>

#include "core/hazard_history.hpp"

namespace norite::cuda {

namespace {

/// How many commands of each branch have ended.
struct Ended {
  void include(const Ended& other) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = std::max(counts[i], other.counts[i]);
  }
  std::array<uint32_t, Branches::kMost> counts = {};
};

class Planner {
 public:
  explicit Planner(size_t commands) {
    result_.places.reserve(commands);
    ends_.reserve(commands);
  }

  void add(const core::Command& command, bool cooperative) {
    const core::Accesses accesses = core::declared_accesses(command.pipeline, command.arguments);
    if (command.fence_before) fence_ = all();
    Ended before = history_.before(accesses);
    before.include(fence_);
    if (cooperative) before.include(last_cooperative_);

    const Ended end = put(before);
    history_.add(accesses, end);
    if (cooperative) last_cooperative_ = end;
  }

  Branches take() && { return std::move(result_); }

 private:
  /// Commands that imply all others of `before`, the latest first.
  [[nodiscard]] std::vector<size_t> frontier(const Ended& before) const {
    std::vector<size_t> lasts;
    for (size_t branch = 0; branch < Branches::kMost; ++branch) {
      if (before.counts[branch] > 0) {
        lasts.push_back(branches_[branch][before.counts[branch] - 1]);
      }
    }
    std::sort(lasts.begin(), lasts.end(), std::greater<>());
    Ended implied;
    std::erase_if(lasts, [&](size_t command) {
      if (includes(implied, command)) return true;
      implied.include(ends_[command]);
      return false;
    });
    return lasts;
  }

  /// Puts the next command on a branch; gives what has ended when it has.
  Ended put(const Ended& before) {
    const std::vector<size_t> waits = frontier(before);
    Branches::Place place{.branch = choose(waits)};
    std::vector<size_t>& branch = branches_[place.branch];
    Ended end = branch.empty() ? Ended{} : ends_[branch.back()];
    for (const size_t command : waits) {
      if (includes(end, command)) continue;
      place.waits_for.push_back(command);
      result_.places[command].awaited = true;
      end.include(ends_[command]);
    }
    branch.push_back(result_.places.size());
    end.counts[place.branch] = static_cast<uint32_t>(branch.size());
    result_.count = std::max(result_.count, place.branch + 1);
    result_.places.push_back(std::move(place));
    ends_.push_back(end);
    return end;
  }

  /// A branch that ends with what the command waits for, else one whose end it waits for in any
  /// case, else the one that has been idle for longest.
  [[nodiscard]] size_t choose(const std::vector<size_t>& waits) const {
    Ended implied;
    for (const size_t command : waits) {
      const size_t branch = result_.places[command].branch;
      if (branches_[branch].back() == command) return branch;
      implied.include(ends_[command]);
    }
    for (size_t branch = 0; branch < Branches::kMost; ++branch) {
      if (branches_[branch].size() <= implied.counts[branch]) return branch;
    }
    const auto idle =
        std::min_element(branches_.begin(), branches_.end(),
                         [](const auto& a, const auto& b) { return a.back() < b.back(); });
    return static_cast<size_t>(idle - branches_.begin());
  }

  [[nodiscard]] bool includes(const Ended& ended, size_t command) const {
    const size_t branch = result_.places[command].branch;
    return ended.counts[branch] >= ends_[command].counts[branch];
  }

  [[nodiscard]] Ended all() const {
    Ended result;
    for (size_t branch = 0; branch < Branches::kMost; ++branch) {
      result.counts[branch] = static_cast<uint32_t>(branches_[branch].size());
    }
    return result;
  }

  Branches result_;
  std::array<std::vector<size_t>, Branches::kMost> branches_;  // commands
  std::vector<Ended> ends_;  // of each command: what has ended when it has, itself included
  core::HazardHistory<Ended> history_;
  Ended fence_, last_cooperative_;
};

}  // namespace

Branches plan_branches(const core::CommandList& list, const std::vector<bool>& cooperative) {
  if (!list.reordered) return {.places = std::vector<Branches::Place>(list.commands.size())};
  Planner planner(list.commands.size());
  for (size_t i = 0; i < list.commands.size(); ++i) planner.add(list.commands[i], cooperative[i]);
  return std::move(planner).take();
}

}  // namespace norite::cuda
