// SPDX-License-Identifier: MIT
// Argument checks that operations share. Each message names the operation, the argument, what was
// seen and what was expected.
#pragma once

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

/// The checks of one operation; the first one to fail ends it.
class Check {
 public:
  explicit Check(std::string_view operation) noexcept : operation_(operation) {}

  [[nodiscard]] tl::unexpected<Error> refuse(std::string_view argument,
                                             std::string_view problem) const;

  [[nodiscard]] Result<void> given(const Named& operand) const;
  /// Given, f32, f16 or bf16, at least one axis, and the last axis contiguous.
  [[nodiscard]] Result<void> activation(const Named& operand) const;
  /// An activation with the dtype and shape of another.
  [[nodiscard]] Result<void> like(const Named& operand, const Named& other) const;
  /// The error says that `expected` is `meaning`, followed by the name of `of` where there is one.
  [[nodiscard]] Result<void> shape(const Named& operand, const Shape& expected,
                                   std::string_view meaning, std::string_view of = {}) const;
  [[nodiscard]] Result<void> dtype(const Named& operand,
                                   std::initializer_list<DType> expected) const;
  [[nodiscard]] Result<void> contiguous(const Named& operand) const;
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
  [[nodiscard]] Result<void> device(const Device& expected, const Named& operand) const;
  [[nodiscard]] Result<void> aliasing(std::initializer_list<Output> outputs,
                                      std::initializer_list<Named> inputs) const;

  std::string_view operation_;
};

/// The shape without its last axis.
Shape leading_shape(const Shape& shape);

}  // namespace norite::ops
