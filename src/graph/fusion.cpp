// SPDX-License-Identifier: MIT
#include "graph/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/recording.hpp"
#include "graph/operands.hpp"
#include "graph/program.hpp"
#include "ops/norm/rms_norm_family.hpp"

namespace norite::graph {

namespace {

/// How far apart, in operations, a pair may be: looking further costs more than it finds.
constexpr size_t kMostBetween = 64;

bool meets_any(const core::Footprint& one, const std::vector<core::Footprint>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const core::Footprint& other) { return core::may_overlap(one, other); });
}

bool must_stay_ordered(const core::Accesses& a, const core::Accesses& b) {
  const auto met = [](const std::vector<core::Footprint>& some,
                      const std::vector<core::Footprint>& others) {
    return std::any_of(some.begin(), some.end(),
                       [&](const core::Footprint& one) { return meets_any(one, others); });
  };
  return met(a.writes, b.reads) || met(a.reads, b.writes) || met(a.writes, b.writes);
}

/// Rewrites a program in place; nodes that vanish are marked and swept at the end.
class Fuser {
 public:
  Fuser(const Device& device, Program& program, GraphReport& report)
      : device_(device), program_(program), report_(report), uses_(find_uses(program)) {}

  void apply(std::span<const FusionRule> rules) {
    last_writer_.clear();
    declined_ = kNothing;
    gone_.assign(program_.size(), false);
    for (size_t i = 0; i < program_.size(); ++i) {
      while (!gone_[i] && fuse_into(i, rules)) {
      }
      if (gone_[i]) continue;
      for (const auto& write : program_[i].accesses.writes) last_writer_[write.storage] = i;
    }
    sweep();
  }

 private:
  /// Whether the node became one with a producer of one of its operands.
  bool fuse_into(size_t consumer, std::span<const FusionRule> rules) {
    for (const core::Footprint& read : program_[consumer].accesses.reads) {
      const auto writer = last_writer_.find(read.storage);
      if (writer == last_writer_.end()) continue;
      for (const FusionRule& rule : rules) {
        if (try_rule(rule, writer->second, consumer)) return true;
      }
    }
    return false;
  }

  /// Whether it is the kernel, or another form of it.
  static bool is_kernel(const core::Command& command, std::string_view kernel) {
    const std::string_view name = command.pipeline.name();
    return name == kernel || (kernel == "rms_norm" && ops::is_rms_norm_kernel(name));
  }

  /// Whether groups share rows in the fused kernel where they do in the norm alone, and only there:
  /// else the order of sums would change.
  static bool sums_alike(const core::Command& fused, const Pair& pair) {
    const auto shares = [](const core::Command& command) {
      return ops::shares_rows(command.pipeline.name());
    };
    return shares(fused) == (shares(pair.producer) || shares(pair.consumer));
  }

  bool try_rule(const FusionRule& rule, size_t producer, size_t consumer) {
    const Pair pair{program_[producer].command, program_[consumer].command};
    if (!is_kernel(pair.producer, rule.producer) || !is_kernel(pair.consumer, rule.consumer) ||
        !rule.matches(pair)) {
      return false;
    }
    const auto decline = [&](std::string_view reason) {
      const std::pair<size_t, size_t> where{producer, consumer};
      if (declined_ != where) {  // a node that reads a result twice is told once
        report_.declined.push_back({std::string(rule.name), pair.producer.label,
                                    pair.consumer.label, std::string(reason)});
      }
      declined_ = where;
      return false;
    };
    if (const auto reason = rule.forbids(pair); !reason.empty()) return decline(reason);
    if (!rule.keeps_intermediate) {
      if (const auto reason = why_not_removable(result_of(pair.producer)); !reason.empty()) {
        return decline(reason);
      }
    }
    if (const auto reason = why_apart(producer, consumer, rule.keeps_intermediate);
        !reason.empty()) {
      return decline(reason);
    }
    const bool at_consumer = can_move(producer, producer + 1, consumer);
    Encoder encoder = device_.encoder();
    auto encoded = rule.encode(encoder, pair);
    if (!encoded) return decline(encoded.error().message);
    auto recorded = core::Recording::take(encoder);
    if (!recorded || recorded->size() != 1) return decline("it would not be a single dispatch");
    core::Command& fused = recorded->front();
    if (!sums_alike(fused, pair)) return decline("groups would share its rows otherwise");
    replace(rule, producer, consumer, at_consumer, std::move(fused));
    return true;
  }

  [[nodiscard]] std::string_view why_not_removable(const View& result) const {
    const Use& use = uses_.at(result.buffer().storage().get());
    if (use.outside > 0) return "the intermediate is held outside of the graph";
    if (!use.intermediate()) return "the intermediate is read before it is written";
    if (use.reads > 1) return "another operation reads the intermediate";
    if (use.writes > 1) return "another operation writes the intermediate";
    return {};
  }

  /// Why neither of the two can move to the other.
  [[nodiscard]] std::string_view why_apart(size_t producer, size_t consumer, bool keeps) const {
    if (consumer - producer > kMostBetween) return "too many operations lie between the two";
    for (size_t i = producer + 1; i <= consumer; ++i) {
      if (!gone_[i] && program_[i].command.fence_before) return "a fence lies between the two";
    }
    if (can_move(producer, producer + 1, consumer)) return {};
    if (can_move(consumer, producer + 1, consumer)) return {};
    return keeps ? "operations between the two use the intermediate or the operands"
                 : "operations between the two use their operands";
  }

  /// Whether a node may change places with all of [begin, end).
  [[nodiscard]] bool can_move(size_t node, size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (!gone_[i] && must_stay_ordered(program_[node].accesses, program_[i].accesses)) {
        return false;
      }
    }
    return true;
  }

  void replace(const FusionRule& rule, size_t producer, size_t consumer, bool at_consumer,
               core::Command fused) {
    const Pair pair{program_[producer].command, program_[consumer].command};
    GraphReport::Fusion fusion{.rule = std::string(rule.name),
                               .operations = {pair.producer.label, pair.consumer.label},
                               .result = fused.label,
                               .changes_bits = rule.changes_bits(pair)};
    report_.fused.push_back(std::move(fusion));
    count(program_[producer], -1);
    count(program_[consumer], -1);
    const size_t place = at_consumer ? consumer : producer;
    const size_t other = at_consumer ? producer : consumer;
    fused.fence_before = program_[place].command.fence_before;
    program_[place] = Node(std::move(fused));
    gone_[other] = true;
    if (program_[other].command.fence_before) pass_fence_on(other);
    program_[other].command = {};
    program_[other].accesses = {};
    count(program_[place], +1);
    for (const auto& write : program_[place].accesses.writes) {
      size_t& writer = last_writer_.try_emplace(write.storage, place).first->second;
      if (gone_[writer] || writer < place) writer = place;
    }
  }

  /// A fence before a node that vanishes stays before what follows it.
  void pass_fence_on(size_t from) {
    for (size_t i = from + 1; i < program_.size(); ++i) {
      if (gone_[i]) continue;
      program_[i].command.fence_before = true;
      return;
    }
  }

  /// Keeps uses_ true to the program.
  void count(const Node& node, int64_t by) {
    for (size_t i = 0; i < node.command.arguments.size(); ++i) {
      const View& view = node.command.arguments[i].view();
      if (!view) continue;
      Use& use = uses_[view.buffer().storage().get()];
      if (core::reads(node.access(i))) use.reads += by;
      if (core::writes(node.access(i))) use.writes += by;
    }
  }

  void sweep() {
    size_t kept = 0;
    for (size_t i = 0; i < program_.size(); ++i) {
      if (gone_[i]) continue;
      if (kept != i) program_[kept] = std::move(program_[i]);
      ++kept;
    }
    program_.erase(program_.begin() + static_cast<std::ptrdiff_t>(kept), program_.end());
  }

  const Device& device_;
  Program& program_;
  GraphReport& report_;
  Uses uses_;
  std::unordered_map<const core::Storage*, size_t> last_writer_;
  std::vector<bool> gone_;
  static constexpr std::pair<size_t, size_t> kNothing = {SIZE_MAX, SIZE_MAX};
  std::pair<size_t, size_t> declined_ = kNothing;  // the last pair that was
};

}  // namespace

void fuse(const Device& device, Program& program, GraphReport& report) {
  Fuser fuser(device, program, report);
  fuser.apply(norm_rules());
  fuser.apply(chain_rules());
}

}  // namespace norite::graph
