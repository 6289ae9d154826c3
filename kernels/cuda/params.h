// SPDX-License-Identifier: MIT
// Arguments of the kernels for rows that several groups share. Those of rms_norm and
// rms_norm_backward keep their places; sums take the next one, u32 [rows, chunks, 2 a sum].
#pragma once

#include "norm/params.h"

enum RmsNormLongArgument { kRmsNormLongSums = kRmsNormParams + 1 };
enum RmsNormBackwardLongArgument { kRmsNormBackwardLongSums = kRmsNormBackwardParams + 1 };

/// Tiles of an operand in threadgroup memory (tile_ring.h); the more wait, the less it matters that
/// one group of a row comes late.
enum LongStages { kRmsNormLongStages = 4, kRmsNormBackwardLongStages = 3 };

/// Rows of an operand in a group's threadgroup memory: one, and the next.
enum { kRmsNormBackwardStagedRows = 2 };

enum ClearSumsArgument { kClearSumsWords, kClearSumsParams };

struct ClearSumsParams {
  uint32_t words;
};
