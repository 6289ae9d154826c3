// SPDX-License-Identifier: MIT
// How norms go over a row twice.
#pragma once

#include <hwy/detect_targets.h>

#include <algorithm>
#include <cstdint>

#include "backends/cpu/processor.hpp"

namespace norite::cpu {

/// Both give the same bits; which one keeps memory busy depends on the processor.
enum class Passes {
  /// The second pass over a row is the first one over the next, and a row further on is prefetched
  /// into the L2: it has to wait there, since the L1 holds too little besides the row at hand.
  joined,
  /// Each pass is a loop of its own, short enough for the processor to see far ahead, and a row
  /// further on is prefetched into the L1. Processors drop requests that come faster than memory
  /// answers, so each pass has requests of its own.
  apart,
};

/// Of a SIMD level, as one of Highway's targets, whose better ones have lower values. Narrower
/// vectors than AVX-512's are bound by arithmetic, which joined passes have less of.
constexpr bool may_be_apart(int64_t target) { return target <= HWY_AVX3; }

/// Measured with 32 KiB of L1 (Zen 4) and with 48 (Zen 5, and some on a Xeon): see bench/README.md.
inline Passes passes_for(const Processor& processor) {
  const bool apart = processor.l1_bytes >= int64_t{48} << 10;
  return apart && may_be_apart(processor.level.hwy_targets) ? Passes::apart : Passes::joined;
}

inline constexpr int64_t kMostRowsAPass = 16;

/// Rows of so many bytes that a pass takes before the other one has its turn. Of short ones
/// several: a processor that waits for the end of a sum does not see as far as the next row.
inline int64_t rows_a_pass(int64_t row_bytes) {
  constexpr int64_t kPassBytes = int64_t{2} << 10;
  return std::clamp<int64_t>(kPassBytes / row_bytes, 1, kMostRowsAPass);
}

}  // namespace norite::cpu
