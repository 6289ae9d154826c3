// SPDX-License-Identifier: MIT
// Arguments of the kernels for rows that several groups share. Those of rms_norm and
// rms_norm_backward keep their places; what groups share takes the next one (shared_sums.h).
#pragma once

#include "norm/params.h"

enum RmsNormLongArgument { kRmsNormLongSums = kRmsNormParams + 1 };
enum RmsNormBackwardLongArgument { kRmsNormBackwardLongSums = kRmsNormBackwardParams + 1 };

/// What groups share, in sums of two u32 each: a head, counters of tickets, and the sums,
/// [rows, tiles, sums of a tile].
enum SharedSumsLayout {
  kSharedSpan = 16,  // of the head and of each counter: a line of memory
  kMostTicketCounters = 1024,
  kSharedSums = kSharedSpan * (1 + kMostTicketCounters),  // where they begin
};

/// Rows of an operand in a group's threadgroup memory: one, and the next.
enum { kRmsNormBackwardStagedRows = 2 };

/// Tiles of rows that groups share, in threadgroup memory. Forward, of x or its sum with a
/// residual: one that comes, one that is summed, two that wait for the sums of their rows; three of
/// rows that begin anywhere and have neither residual nor scale, where there is room. A residual is
/// done with once it is added. Backward, of x and of dy: one waits.
enum {
  kRmsNormLongStages = 4,
  kRmsNormLongPlainStages = 5,
  kRmsNormLongResidualStages = 2,
  kRmsNormBackwardLongStages = 3,
};

/// What a step of rms_norm_long does about the sums of the row that the next one writes.
enum RmsNormLongAhead { kAheadNothing, kAheadAsks, kAheadAwaits };
