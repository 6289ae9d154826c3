// SPDX-License-Identifier: MIT
// Which bytes a view touches, precise enough to tell columns of one matrix apart.
#pragma once

#include <cstdint>

#include "norite/view.hpp"

namespace norite::core {

/// Runs of contiguous bytes that repeat at multiples of a pitch, somewhere in [begin, end).
struct Footprint {
  const Storage* storage = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t run = 0;    // bytes
  int64_t pitch = 0;  // bytes; every run starts at begin + a multiple of it. 0: one run
  int64_t bytes = 0;  // distinct bytes, for counters
};

Footprint footprint(const View& view) noexcept;

/// False only when no byte is touched by both.
bool may_overlap(const Footprint& a, const Footprint& b) noexcept;

/// Same elements in the same places: what "in place" means.
bool same_view(const View& a, const View& b) noexcept;

/// Whether two indices of the view may reach the same byte, so that it cannot be written.
bool repeats_itself(const View& view) noexcept;

}  // namespace norite::core
