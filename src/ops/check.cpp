// SPDX-License-Identifier: MIT
#include "ops/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device_state.hpp"
#include "core/footprint.hpp"

namespace norite::ops {

tl::unexpected<Error> Check::refuse(std::string_view argument, std::string_view seen,
                                    std::string_view expected) const {
  return fail(Code::invalid_argument,
              fmt::format("{}: {} {}, expected {}", operation_, argument, seen, expected));
}

tl::unexpected<Error> Check::refuse_shape(const Named& operand, const Shape& expected,
                                          std::string_view meaning, std::string_view of) const {
  return refuse(operand.name, fmt::format("has shape {}", to_string(operand.view.shape())),
                fmt::format("{} ({}{})", to_string(expected), meaning, of));
}

tl::unexpected<Error> Check::refuse_dtype(const Named& operand,
                                          std::initializer_list<DType> expected) const {
  std::string names;
  for (const DType one : expected) {
    names += fmt::format("{}{}", names.empty() ? "" : " or ", name(one));
  }
  return refuse(operand.name, fmt::format("has dtype {}", name(operand.view.dtype())), names);
}

tl::unexpected<Error> Check::refuse_strides(const Named& operand) const {
  return refuse(operand.name, fmt::format("has strides {}", to_string(operand.view.strides())),
                "1 along the last axis");
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
  return refuse("eps", fmt::format("is {}", value), "a finite value >= 0");
}

Result<void> Check::memory(const Encoder& encoder, std::initializer_list<Output> outputs,
                           std::initializer_list<Named> inputs) const {
  // Before an operation takes memory of its own.
  NORITE_TRY(encoder.device().state()->check_open(operation_));
  const core::Backend& backend = encoder.device().state()->backend();
  const auto elsewhere = [&](const Named& operand) {
    return operand.view && &operand.view.buffer().storage()->backend() != &backend;
  };
  const auto clash = [&](const Named& operand) {
    return refuse(operand.name, "is memory of another device (each Device::open() makes one)",
                  backend.info().id);
  };
  for (const Output& output : outputs) {
    if (elsewhere(output.operand)) return clash(output.operand);
    if (output.operand.view && output.operand.view.buffer().storage()->read_only()) {
      return refuse(output.operand.name, "is read-only memory", "memory to write to");
    }
  }
  for (const Named& input : inputs) {
    if (elsewhere(input)) return clash(input);
  }
  return aliasing(outputs, inputs);
}

Result<void> Check::aliasing(std::initializer_list<Output> outputs,
                             std::initializer_list<Named> inputs) const {
  const auto overlap = [](const Named& a, const Named& b) {
    return a.view.buffer().storage() == b.view.buffer().storage() &&
           core::may_overlap(core::footprint(a.view), core::footprint(b.view));
  };
  const auto clash = [&](const Named& a, const Named& b, std::string_view expected) {
    return refuse(a.name, fmt::format("shares memory with {}", b.name), expected);
  };
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const auto& [operand, in_place] = *output;
    if (!operand.view) continue;
    if (operand.view.layout().repeats_itself) {
      return refuse(operand.name, fmt::format("has strides {}", to_string(operand.view.strides())),
                    "ones that reach no element twice");
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
