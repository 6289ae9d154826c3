// SPDX-License-Identifier: MIT
#pragma once

#include "common/rows.h"

/// A row's place along the dimensions of RowDims. Found once a row: 64-bit divisions are slow.
struct RowIndex {
  long at[3];
};

METAL_FUNC long row_count(constant RowDims& rows) {
  return rows.count[0] * rows.count[1] * rows.count[2];
}

METAL_FUNC RowIndex row_index(constant RowDims& rows, long row) {
  RowIndex index = {{0, 0, row}};
#if ROW_DIMS > 1
  const long outer = row / rows.count[2];
  index.at[0] = outer / rows.count[1];
  index.at[1] = outer - index.at[0] * rows.count[1];
  index.at[2] = row - outer * rows.count[2];
#endif
  return index;
}

/// Elements from an operand's first row to this one.
METAL_FUNC long row_offset(RowIndex row, constant RowStrides& strides) {
  long offset = row.at[2] * strides.stride[2];
#if ROW_DIMS > 1
  offset += row.at[0] * strides.stride[0] + row.at[1] * strides.stride[1];
#endif
  return offset;
}
