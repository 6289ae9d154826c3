// SPDX-License-Identifier: MIT
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace norite::ops {

namespace {

constexpr int kMaxRowAxes = 3;

struct RowAxes {
  std::array<int, Shape::kMaxRank> axis;
  int count = 0;
};

// Whether `outer` steps over exactly what `inner` covers, in every operand.
bool merges(std::initializer_list<RowOperand> operands, const Shape& leading, int outer,
            int inner) {
  return std::all_of(operands.begin(), operands.end(), [&](const RowOperand& row) {
    const View& view = row.operand.view;
    return !view || view.strides()[outer] == view.strides()[inner] * leading[inner];
  });
}

// Leading axes of extent > 1, the outermost first.
RowAxes ordered_axes(const Shape& leading, const View& x, RowOrder order) {
  RowAxes axes;
  for (int axis = 0; axis < leading.rank(); ++axis) {
    if (leading[axis] > 1) axes.axis[axes.count++] = axis;
  }
  if (order == RowOrder::memory) {
    std::sort(axes.axis.begin(), axes.axis.begin() + axes.count, [&](int a, int b) {
      return x.strides()[a] != x.strides()[b] ? x.strides()[a] > x.strides()[b] : a < b;
    });
  }
  return axes;
}

}  // namespace

Result<RowDims> collapse_rows(const Check& check, const Shape& leading, RowOrder order,
                              std::initializer_list<RowOperand> operands) {
  RowDims rows = {{1, 1, 1}};
  for (const RowOperand& row : operands) *row.strides = {};
  const auto [axes, count] = ordered_axes(leading, operands.begin()->operand.view, order);
  int slot = kMaxRowAxes;  // filled from the last
  for (int i = count; i-- > 0;) {
    const bool innermost = i + 1 == count;
    if (innermost || !merges(operands, leading, axes[i], axes[i + 1])) {
      if (slot == 0) {
        return check.refuse(
            operands.begin()->operand.name,
            fmt::format("has leading axes {} that do not lie evenly", to_string(leading)),
            "at most three strided ones");
      }
      --slot;
      for (const RowOperand& row : operands) {
        if (row.operand.view) row.strides->stride[slot] = row.operand.view.strides()[axes[i]];
      }
    }
    rows.count[slot] *= leading[axes[i]];
  }
  return rows;
}

}  // namespace norite::ops
