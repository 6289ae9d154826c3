// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "backends/cuda/constant_ring.hpp"
#include "core/command_list.hpp"

namespace norite::cuda {

/// What CUDA's launch takes: its grid and Metal's differ in their limits.
struct LaunchShape {
  std::array<unsigned, 3> blocks;
  std::array<unsigned, 3> threads;
  bool folded;  // blocks are numbers of groups
  bool ragged;  // the last groups are smaller
  std::array<unsigned, 3> groups;
  std::array<unsigned, 3> total;  // threads of the whole grid
};

/// Errors: invalid_argument for more threads than Metal can count, or more than a block can have.
[[nodiscard]] Result<LaunchShape> launch_shape(const Grid& grid);

/// Puts a dispatch on the stream; its buffers must live until it has ended. The context is current.
[[nodiscard]] Result<void> launch(const Stream& stream, ConstantRing& constants,
                                  const core::Command& command);

}  // namespace norite::cuda
