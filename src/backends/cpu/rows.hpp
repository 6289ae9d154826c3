// SPDX-License-Identifier: MIT
#pragma once

#include "common/rows.h"

namespace norite::cpu {

inline int64_t row_count(const RowDims& rows) {
  return rows.count[0] * rows.count[1] * rows.count[2];
}

/// Elements from the first row of an operand to row r.
inline int64_t row_offset(const RowDims& rows, const RowStrides& strides, int64_t r) {
  // Collapsed rows are the common case, and spare two 64-bit divisions.
  if (rows.count[0] == 1 && rows.count[1] == 1) return r * strides.stride[2];
  const int64_t outer = r / rows.count[2];
  return outer / rows.count[1] * strides.stride[0] + outer % rows.count[1] * strides.stride[1] +
         r % rows.count[2] * strides.stride[2];
}

}  // namespace norite::cpu
