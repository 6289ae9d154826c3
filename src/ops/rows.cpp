// SPDX-License-Identifier: MIT
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::ops {

namespace {

constexpr int kMaxRowAxes = 3;

// Whether `outer` steps over exactly what `inner` covers, in every operand.
bool merges(std::initializer_list<RowOperand> operands, const Shape& leading, int outer,
            int inner) {
  return std::all_of(operands.begin(), operands.end(), [&](const RowOperand& row) {
    const View& view = row.operand.view;
    return !view || view.strides()[outer] == view.strides()[inner] * leading[inner];
  });
}

}  // namespace

int64_t row_count(const RowDims& rows) noexcept {
  return rows.count[0] * rows.count[1] * rows.count[2];
}

Result<RowDims> collapse_rows(const Check& check, const Shape& leading,
                              std::initializer_list<RowOperand> operands) {
  RowDims rows = {{1, 1, 1}};
  for (const RowOperand& row : operands) *row.strides = {};
  int slot = kMaxRowAxes;  // filled from the last
  int previous = -1;
  for (int axis = leading.rank() - 1; axis >= 0; --axis) {
    if (leading[axis] == 1) continue;
    if (previous < 0 || !merges(operands, leading, axis, previous)) {
      if (slot == 0) {
        return check.refuse(operands.begin()->operand.name,
                            fmt::format("has leading axes {} that do not lie evenly, expected at "
                                        "most three strided ones",
                                        to_string(leading)));
      }
      --slot;
      for (const RowOperand& row : operands) {
        if (row.operand.view) row.strides->stride[slot] = row.operand.view.strides()[axis];
      }
    }
    rows.count[slot] *= leading[axis];
    previous = axis;
  }
  return rows;
}

}  // namespace norite::ops
