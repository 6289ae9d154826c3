// SPDX-License-Identifier: MIT
// The roof's kernels as text, for devices that run no host code.
#pragma once

#include <norite/device.hpp>

namespace norite::cases {

struct RoofKernel {
  Pipeline pipeline;
  Grid grid = {};
};

/// Copies `bytes` from the first argument to the second; a thread has `packs` packs of 16 bytes in
/// flight.
[[nodiscard]] Result<RoofKernel> copy_from_text(const Device& device, int64_t bytes, int64_t packs);
/// Reads `bytes` from the first argument.
[[nodiscard]] Result<RoofKernel> read_from_text(const Device& device, int64_t bytes, int64_t packs);

}  // namespace norite::cases
