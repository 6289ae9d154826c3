// SPDX-License-Identifier: MIT
// Which commands must wait for which, where bytes and fences are all that orders them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/command_list.hpp"

namespace norite::core {

/// A command, or a join: it has no command and ends when all nodes before it have. Joins stand for
/// fences, and for so many nodes at a time that naming each would take more than linear memory.
struct DependencyNode {
  std::optional<size_t> command;
  std::vector<size_t> waits_for;  // earlier nodes, in ascending order
};

/// Commands as nodes in the order of the list. A node waits, directly or by way of others, for all
/// those whose bytes it must not touch too early, and for what lies before a fence.
[[nodiscard]] std::vector<DependencyNode> find_dependencies(std::span<const Command> commands);

}  // namespace norite::core
