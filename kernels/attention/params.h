// SPDX-License-Identifier: MIT
// Constants of the attention kernels.
#pragma once

#include "common/rows.h"

/// d[row] = sum over head_dim of o * d_o
enum ComputeDArgument { kComputeDO, kComputeDDo, kComputeDOut, kComputeDParams };

struct ComputeDParams {
  RowDims rows;
  int64_t head_dim;
  RowStrides o, d_o, d;
};
