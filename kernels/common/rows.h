// SPDX-License-Identifier: MIT
// Rows scattered over up to three strided dimensions. Row r of a tensor [n0, n1, n2, dim] is
// (r / (n1 * n2), r / n2 % n1, r % n2); most tensors collapse to n0 = n1 = 1.
#pragma once

#include "common/types.h"

struct RowDims {
  int64_t count[3];
};

/// Distance of neighbouring rows along each dimension, in elements. Zero repeats the row.
struct RowStrides {
  int64_t stride[3];
};
