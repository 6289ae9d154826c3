// SPDX-License-Identifier: MIT
// Elementwise operations on views of any shape and strides: as host code and as kernel text.
#include <gtest/gtest.h>
// RapidCheck's glue wants GoogleTest first.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "host_values.hpp"

namespace norite {
namespace {

using test::must;

/// Up to four axes.
Shape any_shape() {
  Shape shape;
  const int rank = *rc::gen::inRange(1, 5);
  for (int axis = 0; axis < rank; ++axis) shape.push_back(*rc::gen::inRange<int64_t>(1, 9));
  return shape;
}

/// Axes in any order in memory, with gaps behind any of them; perhaps an axis that repeats.
Strides any_strides(const Shape& shape, bool may_repeat) {
  std::vector<int> order(static_cast<size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (*rc::gen::arbitrary<bool>()) {
    std::shuffle(order.begin(), order.end(), std::mt19937(*rc::gen::arbitrary<uint32_t>()));
  }
  Strides strides = shape;
  int64_t stride = *rc::gen::weightedElement<int64_t>({{4, 1}, {1, 2}});
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= shape[*axis];
    stride += *rc::gen::weightedElement<int64_t>({{4, 0}, {1, 3}, {1, 4}});
  }
  if (may_repeat && *rc::gen::weightedElement<bool>({{3, false}, {1, true}})) {
    strides[*rc::gen::inRange(0, shape.rank())] = 0;
  }
  return strides;
}

int64_t reach(const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) last += (shape[axis] - 1) * strides[axis];
  return last + 1;
}

/// Offsets of all elements, row-major.
std::vector<size_t> offsets(const Shape& shape, const Strides& strides) {
  std::vector<size_t> result;
  for (int64_t i = 0; i < shape.count().value_or(0); ++i) {
    int64_t offset = 0, rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    result.push_back(static_cast<size_t>(offset));
  }
  return result;
}

void check_add(const Device& device) {
  const Shape shape = any_shape();
  const Strides a_strides = any_strides(shape, true);
  const Strides b_strides = any_strides(shape, true);
  const Strides y_strides = any_strides(shape, false);
  const auto a = test::pattern(reach(shape, a_strides), 1);
  const auto b = test::pattern(reach(shape, b_strides), 2);
  const auto before = test::pattern(reach(shape, y_strides), 3);
  const auto view = [&](const std::vector<float>& values, const Strides& strides) {
    const auto count = static_cast<int64_t>(values.size());
    const Buffer buffer = test::upload(device, DType::f32, {count}, values);
    return must(View::make(buffer, DType::f32, shape, strides, 0));
  };
  const View y = view(before, y_strides);
  test::run(device, [&](Encoder& e) {
    return ops::add(e, {.a = view(a, a_strides), .b = view(b, b_strides), .y = y});
  });
  std::vector<float> expected = before;
  const auto a_at = offsets(shape, a_strides), b_at = offsets(shape, b_strides),
             y_at = offsets(shape, y_strides);
  for (size_t i = 0; i < y_at.size(); ++i) expected[y_at[i]] = a[a_at[i]] + b[b_at[i]];
  RC_ASSERT(test::download(y.buffer()) == expected);
}

RC_GTEST_PROP(Elementwise, AddTakesAnyStrides, ()) {
  static const Device device = must(Device::open("cpu"));
  check_add(device);
}

RC_GTEST_PROP(Elementwise, AddOfKernelTextTakesAnyStrides, ()) {
  static const Device device = must(Device::open("cpu", {.builtins = BuiltinForm::text}));
  check_add(device);
}

}  // namespace
}  // namespace norite
