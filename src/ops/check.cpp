// SPDX-License-Identifier: MIT
#include "ops/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device_state.hpp"
#include "core/footprint.hpp"

namespace norite::ops {

Shape leading_shape(const Shape& shape) {
  return Shape(std::span<const int64_t>(shape.begin(), shape.end() - 1));
}

tl::unexpected<Error> Check::refuse(std::string_view argument, std::string_view problem) const {
  return fail(Code::invalid_argument, fmt::format("{}: {} {}", operation_, argument, problem));
}

Result<void> Check::given(const Named& operand) const {
  if (!operand.view) return refuse(operand.name, "is not given");
  return {};
}

Result<void> Check::activation(const Named& operand) const {
  NORITE_TRY(given(operand));
  NORITE_TRY(dtype(operand, {DType::f32, DType::f16, DType::bf16}));
  if (operand.view.shape().rank() < 1) {
    return refuse(operand.name, "has shape [], expected at least one axis");
  }
  return contiguous(operand);
}

Result<void> Check::like(const Named& operand, const Named& other) const {
  NORITE_TRY(activation(operand));
  NORITE_TRY(dtype(operand, {other.view.dtype()}));
  return shape(operand, other.view.shape(), "the shape of ", other.name);
}

Result<void> Check::shape(const Named& operand, const Shape& expected, std::string_view meaning,
                          std::string_view of) const {
  if (operand.view.shape() == expected) return {};
  return refuse(operand.name,
                fmt::format("has shape {}, expected {} ({}{})", to_string(operand.view.shape()),
                            to_string(expected), meaning, of));
}

Result<void> Check::dtype(const Named& operand, std::initializer_list<DType> expected) const {
  if (std::find(expected.begin(), expected.end(), operand.view.dtype()) != expected.end())
    return {};
  std::string names;
  for (const DType one : expected) {
    names += fmt::format("{}{}", names.empty() ? "" : " or ", name(one));
  }
  return refuse(operand.name,
                fmt::format("has dtype {}, expected {}", name(operand.view.dtype()), names));
}

Result<void> Check::contiguous(const Named& operand) const {
  const View& view = operand.view;
  if (view.shape().rank() == 0 || view.shape().back() == 1 || view.strides().back() == 1) return {};
  return refuse(operand.name, fmt::format("has strides {}, expected 1 along the last axis",
                                          to_string(view.strides())));
}

Result<void> Check::vector(const Named& operand, int64_t dim, DType activation) const {
  NORITE_TRY(activation == DType::f32 ? dtype(operand, {DType::f32})
                                      : dtype(operand, {activation, DType::f32}));
  NORITE_TRY(shape(operand, {dim}, "the last axis of x"));
  return contiguous(operand);
}

Result<void> Check::per_row(const Named& operand, const Named& x) const {
  NORITE_TRY(given(operand));
  NORITE_TRY(dtype(operand, {DType::f32}));
  return shape(operand, leading_shape(x.view.shape()), "all but the last axis of ", x.name);
}

Result<void> Check::eps(float value) const {
  if (std::isfinite(value) && value >= 0.0f) return {};
  return refuse("eps", fmt::format("is {}, expected a finite value >= 0", value));
}

Result<void> Check::memory(const Encoder& encoder, std::initializer_list<Output> outputs,
                           std::initializer_list<Named> inputs) const {
  const Device& expected = encoder.device();
  for (const Output& output : outputs) NORITE_TRY(device(expected, output.operand));
  for (const Named& input : inputs) NORITE_TRY(device(expected, input));
  return aliasing(outputs, inputs);
}

Result<void> Check::device(const Device& expected, const Named& operand) const {
  if (!operand.view ||
      &operand.view.buffer().storage()->backend() == &expected.state()->backend()) {
    return {};
  }
  return refuse(operand.name,
                fmt::format("is memory of another device, expected {}", expected.info().id));
}

Result<void> Check::aliasing(std::initializer_list<Output> outputs,
                             std::initializer_list<Named> inputs) const {
  const auto overlap = [](const Named& a, const Named& b) {
    return a.view.buffer().storage() == b.view.buffer().storage() &&
           core::may_overlap(core::footprint(a.view), core::footprint(b.view));
  };
  const auto clash = [&](const Named& a, const Named& b, std::string_view hint) {
    return refuse(a.name, fmt::format("shares memory with {}, expected {}", b.name, hint));
  };
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const auto& [operand, in_place] = *output;
    if (!operand.view) continue;
    if (operand.view.layout().repeats_itself) {
      return refuse(operand.name, fmt::format("has strides {}, which reach elements more than once",
                                              to_string(operand.view.strides())));
    }
    for (const Named& input : inputs) {
      if (!overlap(operand, input)) continue;
      const bool allowed =
          std::find(in_place.begin(), in_place.end(), input.name) != in_place.end();
      if (allowed && core::same_view(operand.view, input.view)) continue;
      return clash(operand, input,
                   allowed ? "the very same view or separate memory" : "separate memory");
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (overlap(operand, other->operand)) {
        return clash(operand, other->operand, "separate memory");
      }
    }
  }
  return {};
}

}  // namespace norite::ops
