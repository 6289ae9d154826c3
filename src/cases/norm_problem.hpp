// SPDX-License-Identifier: MIT
#pragma once

#include "cases/norm.hpp"

namespace norite::cases {

/// What rms_norm, rms_norm_mul and residual_rms_norm share: x, weight, y, rms_inv, and
/// y = row·r·w, where `row` is x unless the operation says otherwise.
class NormProblem : public Problem {
 public:
  NormProblem(const NormSpec& spec, const Device& device, Data data)
      : Problem(device, std::move(data)), spec_(spec) {}

  Result<void> prepare() override;

 protected:
  [[nodiscard]] Layout layout() const { return {.row_gap = spec_.strided ? kRowGap : 0}; }
  /// The row that is normalised.
  [[nodiscard]] virtual Values normalised_row(int64_t row) const { return x_->row(row); }
  /// What the operation does to a row of y after the weight.
  virtual void finish_row(int64_t /*row*/, std::span<Expected> /*y*/) const {}

  Result<void> compare(Comparison& comparison) const override;

  NormSpec spec_;
  const Tensor* x_ = nullptr;
  const Tensor* weight_ = nullptr;
  const Tensor* y_ = nullptr;  ///< x_ itself when in place
  const Tensor* rms_inv_ = nullptr;
};

/// A problem with its tensors made.
template <class ConcreteProblem, class Spec>
Result<ProblemPtr> make_problem(const Spec& spec, const Device& device, Data data) {
  auto problem = std::make_unique<ConcreteProblem>(spec, device, std::move(data));
  NORITE_TRY(problem->prepare());
  return problem;
}

}  // namespace norite::cases
