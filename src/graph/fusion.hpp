// SPDX-License-Identifier: MIT
// Which pairs of operations become one. A rule is a row; what all rules have in common, fusion.cpp
// checks, and what the fused operation itself demands, its own checks.
#pragma once

#include <span>
#include <string_view>

#include "core/command_list.hpp"
#include "norite/encoder.hpp"

namespace norite::graph {

/// The consumer reads what the producer writes.
struct Pair {
  const core::Command& producer;
  const core::Command& consumer;
};

struct FusionRule {
  std::string_view name;
  std::string_view producer, consumer;  // built-in kernels
  /// Whether the pair is what the rule is about: functions, optional operands, the operand that
  /// hands the producer's result over.
  bool (*matches)(const Pair& pair);
  /// An empty string, or why this pair must stay as it is.
  std::string_view (*forbids)(const Pair& pair);
  /// The fused operation writes the intermediate too: it need not be one that vanishes.
  bool keeps_intermediate = false;
  bool (*changes_bits)(const Pair& pair);
  Result<void> (*encode)(Encoder& encoder, const Pair& pair);
};

/// In the order in which they are tried.
std::span<const FusionRule> norm_rules();
std::span<const FusionRule> chain_rules();

/// The result that a producer of any rule hands over.
const View& result_of(const core::Command& producer);

}  // namespace norite::graph
