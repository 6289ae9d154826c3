// SPDX-License-Identifier: MIT
// Which commands of a graph run side by side.
#pragma once

#include <vector>

#include "core/command_list.hpp"

namespace norite::cuda {

/// The commands of a list on a few streams. In its branch a command waits for the one before it;
/// what it must wait for beyond that, it names.
struct Branches {
  static constexpr size_t kMost = 8;

  struct Place {
    size_t branch = 0;
    std::vector<size_t> waits_for = {};  // commands of other branches
    bool awaited = false;                // by a command of another branch
  };

  std::vector<Place> places;  // of each command
  size_t count = 1;           // branches
};

/// One branch for a list that is to run as it was recorded. Otherwise commands wait for those whose
/// bytes they share, for what lies before a fence, and for little else: there are so many branches
/// and no more. A command goes where one that it waits for is the last, so that it may get going
/// early (launch.cpp). `cooperative` says of which commands the groups wait for each other: two of
/// them at a time could each hold a part of the GPU and wait for the rest.
[[nodiscard]] Branches plan_branches(const core::CommandList& list,
                                     const std::vector<bool>& cooperative);

}  // namespace norite::cuda
