// SPDX-License-Identifier: MIT
#include "core/command_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace norite::core {

DispatchTiming whole_timing(double duration_us) { return {"all dispatches", 0, duration_us}; }

std::string describe_work(std::span<const Command> commands) {
  constexpr size_t kMostNames = 8;
  std::vector<std::string_view> labels;
  for (const Command& command : commands) {
    if (std::ranges::find(labels, command.label) == labels.end()) labels.push_back(command.label);
  }
  if (labels.empty()) return "an empty submit";
  if (labels.size() == 1) return std::string(labels[0]);
  if (labels.size() <= kMostNames) return fmt::format("one of {}", fmt::join(labels, ", "));
  labels.resize(kMostNames);
  return fmt::format("one of {} and others", fmt::join(labels, ", "));
}

}  // namespace norite::core
