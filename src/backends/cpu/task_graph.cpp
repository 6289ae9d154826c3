// SPDX-License-Identifier: MIT
#include "backends/cpu/task_graph.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "backends/cpu/work_bytes.hpp"
#include "core/dependencies.hpp"

namespace norite::cpu {

namespace {

/// Commands that run one after the other, and the earlier chains that they wait for.
struct Chain {
  std::vector<size_t> commands = {};
  std::vector<size_t> waits_for = {};  // in ascending order
};
using Chains = std::vector<Chain>;

/// A chain for each command, and a first one, empty, that all others wait for.
Chains separate_chains(std::span<const core::Command> commands) {
  Chains chains(1);
  for (const core::DependencyNode& node : core::find_dependencies(commands)) {
    Chain& chain = chains.emplace_back();
    if (node.command) chain.commands.push_back(*node.command);
    for (const size_t earlier : node.waits_for) chain.waits_for.push_back(earlier + 1);
    if (chain.waits_for.empty()) chain.waits_for.push_back(0);
  }
  return chains;
}

/// Leaves out waiting for chains that another one waits for in any case, as far as a short search
/// shows: residual connections pass over whole blocks.
void drop_implied(Chains& chains) {
  constexpr int kMostSteps = 256;  // of a chain, so that time grows with their number alone
  std::vector<size_t> implied_for(chains.size(), 0);
  std::vector<size_t> open;
  for (size_t i = 0; i < chains.size(); ++i) {
    std::vector<size_t>& waits_for = chains[i].waits_for;
    if (waits_for.size() < 2) continue;
    open = waits_for;
    for (int steps = 0; steps < kMostSteps && !open.empty();) {
      const size_t one = open.back();
      open.pop_back();
      for (const size_t earlier : std::views::reverse(chains[one].waits_for)) {
        if (earlier < waits_for.front() || ++steps > kMostSteps) break;
        if (std::exchange(implied_for[earlier], i) != i) open.push_back(earlier);
      }
    }
    std::erase_if(waits_for, [&](size_t one) { return implied_for[one] == i; });
  }
}

std::vector<uint32_t> count_successors(const Chains& chains) {
  std::vector<uint32_t> counts(chains.size(), 0);
  for (const Chain& chain : chains) {
    for (const size_t earlier : chain.waits_for) ++counts[earlier];
  }
  return counts;
}

/// Makes one chain of those that only wait for each other. Chains are in the order of their first
/// commands: one that is waited for comes first, then as before.
Chains join_chains(Chains chains) {
  drop_implied(chains);
  const std::vector<uint32_t> successors = count_successors(chains);
  Chains joined;
  std::vector<size_t> place(chains.size());
  for (size_t i = 0; i < chains.size(); ++i) {
    Chain& chain = chains[i];
    if (chain.waits_for.size() == 1 && successors[chain.waits_for[0]] == 1) {
      place[i] = place[chain.waits_for[0]];
      std::vector<size_t>& before = joined[place[i]].commands;
      before.insert(before.end(), chain.commands.begin(), chain.commands.end());
    } else {
      place[i] = joined.size();
      for (size_t& earlier : chain.waits_for) earlier = place[earlier];
      std::ranges::sort(chain.waits_for);
      joined.push_back(std::move(chain));
    }
  }
  return joined;
}

/// Has chains of few bytes that wait for the same follow each other, up to as many as are worth a
/// task.
void gather_small(std::span<const core::Command> commands, Chains& chains) {
  constexpr int64_t kFewBytes = int64_t{128} << 10;
  size_t last = 0;
  std::vector<size_t> awaited;  // by those that were gathered
  int64_t gathered = 0;
  for (size_t i = 1; i < chains.size(); ++i) {
    int64_t bytes = 0;
    for (const size_t command : chains[i].commands) bytes += work_bytes(commands[command]);
    if (chains[i].commands.empty() || bytes >= kFewBytes) continue;
    if (last > 0 && gathered < kFewBytes && chains[i].waits_for == awaited) {
      chains[i].waits_for.push_back(last);
    } else {
      awaited = chains[i].waits_for;
      gathered = 0;
    }
    gathered += bytes;
    last = i;
  }
}

/// Few bytes in all are done before a thread that sleeps has woken up.
bool worth_sharing(std::span<const core::Command> commands) {
  constexpr int64_t kFewBytes = int64_t{1} << 20;
  int64_t bytes = 0;
  for (const core::Command& command : commands) bytes += work_bytes(command);
  return bytes > kFewBytes;
}

Chains find_chains(std::span<const core::Command> commands) {
  Chains chains(1);
  if (!worth_sharing(commands)) {
    for (size_t i = 0; i < commands.size(); ++i) chains[0].commands.push_back(i);
    return chains;
  }
  chains = join_chains(separate_chains(commands));
  gather_small(commands, chains);
  return join_chains(std::move(chains));
}

}  // namespace

TaskGraph::TaskGraph(std::span<const core::Command> commands) {
  Chains chains = find_chains(commands);
  tasks_.resize(chains.size());
  for (size_t i = 0; i < chains.size(); ++i) {
    for (const size_t earlier : chains[i].waits_for) tasks_[earlier].successors.push_back(i);
    tasks_[i].predecessors = static_cast<uint32_t>(chains[i].waits_for.size());
    tasks_[i].commands = std::move(chains[i].commands);
  }
  progress_ = std::vector<Progress>(tasks_.size());
}

/// A thread goes on with a task that its last one made ready: what it wrote is in its cache.
void TaskGraph::run_from(size_t task, const RunCommand& run, TaskStarter& starter) {
  for (std::optional<size_t> next = task; next;) {
    const Task& now = tasks_[*std::exchange(next, std::nullopt)];
    for (const size_t command : now.commands) run(command);
    for (const size_t successor : now.successors) {
      Progress& progress = progress_[successor];
      if (progress.unfinished.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
      if (!next) {
        next = successor;
      } else {
        progress.ready.release();
        starter.start(successor);
      }
    }
  }
}

void TaskGraph::run(const RunCommand& run) {
  if (tasks_.size() == 1) {
    for (const size_t command : tasks_[0].commands) run(command);
    return;
  }
  for (size_t i = 0; i < tasks_.size(); ++i) {
    progress_[i].unfinished.store(tasks_[i].predecessors, std::memory_order_relaxed);
  }
  run_tasks(0, [&](size_t task, TaskStarter& starter) {
    progress_[task].ready.acquire();
    run_from(task, run, starter);
  });
}

}  // namespace norite::cpu
