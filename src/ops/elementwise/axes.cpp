// SPDX-License-Identifier: MIT
#include "ops/elementwise/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace norite::ops {

namespace {

constexpr int kRowAxes = 3;

struct Axes {
  std::array<int, Shape::kMaxRank> axis;
  int count = 0;
};

// Axes of extent > 1, the outermost of the view's memory first.
Axes in_memory_order(const View& view) {
  Axes axes;
  for (int axis = 0; axis < view.shape().rank(); ++axis) {
    if (view.shape()[axis] > 1) axes.axis[axes.count++] = axis;
  }
  std::sort(axes.axis.begin(), axes.axis.begin() + axes.count, [&](int a, int b) {
    return view.strides()[a] != view.strides()[b] ? view.strides()[a] > view.strides()[b] : a < b;
  });
  return axes;
}

// Whether `outer` steps over exactly what `inner` covers, in every operand.
bool merges(std::initializer_list<ElementwiseOperand> operands, int outer, int inner) {
  return std::all_of(operands.begin(), operands.end(), [&](const ElementwiseOperand& one) {
    const View& view = one.operand.view;
    return !view || view.strides()[outer] == view.strides()[inner] * view.shape()[inner];
  });
}

}  // namespace

Result<void> merge_axes(const Check& check, std::initializer_list<ElementwiseOperand> operands,
                        ElementwiseParams& params) {
  const Named& first = operands.begin()->operand;
  const Shape& shape = first.view.shape();
  params.rows = {{1, 1, 1}};
  params.dim = 1;
  for (ElementwiseStrides& strides : params.operands) strides = {.rows = {}, .step = 1};
  const Axes axes = in_memory_order(first.view);
  int slot = kRowAxes + 1;  // filled from the last, which is the columns'
  for (int i = axes.count - 1; i >= 0; --i) {
    const int axis = axes.axis[i];
    if (i == axes.count - 1 || !merges(operands, axis, axes.axis[i + 1])) {
      if (slot == 0) {
        return check.refuse(
            first.name,
            fmt::format("has axes {} that do not lie evenly in every operand", to_string(shape)),
            "at most four strided ones");
      }
      --slot;
      for (const auto& [position, operand] : operands) {
        ElementwiseStrides& strides = params.operands[position];
        int64_t& stride = slot == kRowAxes ? strides.step : strides.rows.stride[slot];
        if (operand.view) stride = operand.view.strides()[axis];
      }
    }
    (slot == kRowAxes ? params.dim : params.rows.count[slot]) *= shape[axis];
  }
  return {};
}

}  // namespace norite::ops
