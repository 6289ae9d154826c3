// SPDX-License-Identifier: MIT
// Argument checks that operations share. Each message names the operation, the argument, what was
// seen and what was expected.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "norite/encoder.hpp"
#include "norite/error.hpp"
#include "norite/view.hpp"

namespace norite::ops {

/// For operands that an operation does not have.
inline const View kNotGiven;

/// A view under the name its descriptor gives it.
struct Named {
  Named() : view(kNotGiven) {}
  Named(std::string_view its_name, const View& of) : name(its_name), view(of) {}
  Named(std::string_view, View&&) = delete;  // refers to it

  std::string_view name;
  const View& view;
};

/// An output, and the inputs that it may be identical to.
struct Output {
  Named operand;
  std::array<std::string_view, 3> in_place = {};
};

/// The checks of one operation; the first one to fail ends it. Those that every operand passes are
/// inline: they are a good part of what a dispatch costs.
class Check {
 public:
  explicit Check(std::string_view operation) noexcept : operation_(operation) {}

  /// "operation: argument seen, expected ..."
  [[nodiscard]] tl::unexpected<Error> refuse(std::string_view argument, std::string_view seen,
                                             std::string_view expected) const;

  [[nodiscard]] Result<void> given(const Named& operand) const {
    if (operand.view) return {};
    return refuse(operand.name, "is not given", "a view");
  }
  /// Given, f32, f16 or bf16, at least one axis, and the last axis contiguous.
  [[nodiscard]] Result<void> activation(const Named& operand) const {
    NORITE_TRY(given(operand));
    NORITE_TRY(dtype(operand, {DType::f32, DType::f16, DType::bf16}));
    if (operand.view.shape().rank() < 1) {
      return refuse(operand.name, "has shape []", "at least one axis");
    }
    return contiguous(operand);
  }
  /// An activation with the dtype and shape of another.
  [[nodiscard]] Result<void> like(const Named& operand, const Named& other) const {
    NORITE_TRY(activation(operand));
    NORITE_TRY(dtype(operand, {other.view.dtype()}));
    return shape(operand, other.view.shape(), "the shape of ", other.name);
  }
  /// The error says that `expected` is `meaning`, followed by the name of `of` where there is one.
  [[nodiscard]] Result<void> shape(const Named& operand, const Shape& expected,
                                   std::string_view meaning, std::string_view of = {}) const {
    if (operand.view.shape() == expected) return {};
    return refuse_shape(operand, expected, meaning, of);
  }
  [[nodiscard]] Result<void> dtype(const Named& operand,
                                   std::initializer_list<DType> expected) const {
    if (std::ranges::find(expected, operand.view.dtype()) != expected.end()) return {};
    return refuse_dtype(operand, expected);
  }
  [[nodiscard]] Result<void> contiguous(const Named& operand) const {
    const Shape& shape = operand.view.shape();
    if (shape.rank() == 0 || shape.back() == 1 || operand.view.strides().back() == 1) return {};
    return refuse_strides(operand);
  }
  /// [dim], contiguous, in the activation's dtype or f32.
  [[nodiscard]] Result<void> vector(const Named& operand, int64_t dim, DType activation) const;
  /// f32 with one value for each row of x.
  [[nodiscard]] Result<void> per_row(const Named& operand, const Named& x) const;
  [[nodiscard]] Result<void> eps(float value) const;
  /// Every operand is memory of the encoder's device, and no output shares bytes with another
  /// operand, except where it is that operand, in place.
  [[nodiscard]] Result<void> memory(const Encoder& encoder, std::initializer_list<Output> outputs,
                                    std::initializer_list<Named> inputs) const;

 private:
  [[nodiscard]] tl::unexpected<Error> refuse_shape(const Named& operand, const Shape& expected,
                                                   std::string_view meaning,
                                                   std::string_view of) const;
  [[nodiscard]] tl::unexpected<Error> refuse_dtype(const Named& operand,
                                                   std::initializer_list<DType> expected) const;
  [[nodiscard]] tl::unexpected<Error> refuse_strides(const Named& operand) const;
  [[nodiscard]] Result<void> aliasing(std::initializer_list<Output> outputs,
                                      std::initializer_list<Named> inputs) const;

  std::string_view operation_;
};

/// The shape without its last axis.
inline Shape leading_shape(const Shape& shape) {
  return Shape(std::span<const int64_t>(shape.begin(), shape.end() - 1));
}

}  // namespace norite::ops
