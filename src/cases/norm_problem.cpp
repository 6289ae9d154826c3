// SPDX-License-Identifier: MIT
#include "cases/norm_problem.hpp"

namespace norite::cases {

Result<void> NormProblem::prepare() {
  const Role role = spec_.in_place ? Role::in_place : Role::input;
  NORITE_TRY_ASSIGN(x_, input("x", spec_.dtype, spec_.shape, layout(), {}, role));
  if (spec_.weight != Weight::none) {
    const DType dtype = weight_dtype(spec_.dtype, spec_.f32_weight);
    NORITE_TRY_ASSIGN(weight_, input("weight", dtype, {spec_.shape.back()}));
  }
  y_ = x_;
  if (!spec_.in_place) {
    NORITE_TRY_ASSIGN(y_, output("y", spec_.dtype, spec_.shape, layout()));
  }
  if (spec_.rms_inv) {
    NORITE_TRY_ASSIGN(rms_inv_, output("rms_inv", DType::f32, without_last(spec_.shape)));
  }
  return {};
}

Result<void> NormProblem::compare(Comparison& comparison) const {
  const int64_t dim = x_->row_length();
  const auto factors = weight_factors(spec_.weight, weight_, dim);
  const int roundings = spec_.rounding == ops::Rounding::before_weight ? 2 : 1;
  const auto rows = checked_rows(*x_);
  NORITE_TRY_ASSIGN(const Snapshot y, y_->snapshot());
  for (const int64_t row : rows) {
    const Values x = normalised_row(row);
    auto expected = normalised(x, rms_inv(x, spec_.eps), factors, spec_.dtype);
    finish_row(row, expected);
    comparison.elements(*y_, y, row * dim, expected, tolerance(spec_.dtype, dim, roundings));
  }
  if (rms_inv_ == nullptr) return {};
  NORITE_TRY_ASSIGN(const Snapshot got, rms_inv_->snapshot());
  for (const int64_t row : rows) {
    const double r = rms_inv(normalised_row(row), spec_.eps);
    const Expected expected[] = {{.value = r, .magnitude = r}};
    comparison.elements(*rms_inv_, got, row, expected, tolerance(DType::f32, dim));
  }
  return {};
}

}  // namespace norite::cases
