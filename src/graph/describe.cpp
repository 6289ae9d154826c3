// SPDX-License-Identifier: MIT
#include "graph/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/program.hpp"

namespace norite::graph {

namespace {

/// Who touched which bytes of a storage, as far as later operations may have to wait for them.
class Touched {
 public:
  void collect(const core::Footprint& one, std::set<int64_t>& after) const {
    for (const Entry& entry : entries_) {
      if (core::may_overlap(entry.footprint, one)) after.insert(entry.operation);
    }
  }
  /// Of very many the oldest are forgotten: arrows of a picture that nobody could read anyway.
  void add(const core::Footprint& one, int64_t operation) {
    constexpr size_t kMost = 256;
    if (entries_.size() == kMost) entries_.erase(entries_.begin(), entries_.begin() + kMost / 2);
    entries_.push_back({one, operation});
  }
  /// What waits for a write of these bytes need not wait for what the write waited for.
  void forget_under(const core::Footprint& one) {
    if (one.pitch != 0) return;
    std::erase_if(entries_, [&](const Entry& entry) {
      return one.begin <= entry.footprint.begin && entry.footprint.end <= one.end;
    });
  }

 private:
  struct Entry {
    core::Footprint footprint;
    int64_t operation;
  };
  std::vector<Entry> entries_;
};

class Describer {
 public:
  GraphDescription::Operation add(const core::Command& command) {
    stage_ += command.barrier_before ? 1 : 0;
    const Node node(command);
    GraphDescription::Operation result{.name = command.label,
                                       .kernel = command.pipeline.name(),
                                       .stage = stage_,
                                       .bytes = node.command.bytes};
    for (size_t i = 0; i < command.arguments.size(); ++i) {
      const View& view = command.arguments[i].view();
      if (!view) continue;
      const Parameter& parameter = command.pipeline.parameters()[i];
      if (core::reads(node.access(i))) result.reads.push_back(operand(parameter, view));
      if (core::writes(node.access(i))) result.writes.push_back(operand(parameter, view));
    }
    find_dependencies(node.accesses, result.after);
    ++operations_;
    return result;
  }

 private:
  GraphDescription::Operand operand(const Parameter& parameter, const View& view) {
    const auto next = static_cast<int64_t>(buffers_.size());
    const auto buffer = buffers_.try_emplace(view.buffer().storage().get(), next).first->second;
    return {.name = parameter.name,
            .view = fmt::format("{} {}", norite::name(view.dtype()), to_string(view.shape())),
            .buffer = buffer};
  }

  void find_dependencies(const core::Accesses& accesses, std::vector<int64_t>& after) {
    std::set<int64_t> found;
    for (const auto& read : accesses.reads) writes_[read.storage].collect(read, found);
    for (const auto& write : accesses.writes) {
      writes_[write.storage].collect(write, found);
      reads_[write.storage].collect(write, found);
    }
    for (const auto& write : accesses.writes) {
      writes_[write.storage].forget_under(write);
      reads_[write.storage].forget_under(write);
      writes_[write.storage].add(write, operations_);
    }
    for (const auto& read : accesses.reads) reads_[read.storage].add(read, operations_);
    after.assign(found.begin(), found.end());
  }

  int64_t stage_ = 0;
  int64_t operations_ = 0;
  std::unordered_map<const core::Storage*, int64_t> buffers_;
  std::unordered_map<const core::Storage*, Touched> reads_, writes_;
};

}  // namespace

GraphDescription describe(const Device& device, std::span<const core::Command> commands) {
  GraphDescription result{.device = device.info().id};
  result.operations.reserve(commands.size());
  Describer describer;
  for (const core::Command& command : commands) result.operations.push_back(describer.add(command));
  return result;
}

}  // namespace norite::graph
