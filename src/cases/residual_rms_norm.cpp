// SPDX-License-Identifier: MIT
#include "cases/norm_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/residual_rms_norm.hpp>

namespace norite::cases {
namespace {

class ResidualRmsNormProblem final : public NormProblem {
 public:
  using NormProblem::NormProblem;

  Result<void> prepare() override {
    NORITE_TRY(NormProblem::prepare());
    const Role role = spec_.in_place ? Role::in_place : Role::input;
    NORITE_TRY_ASSIGN(residual_, input("residual", spec_.dtype, spec_.shape, layout(), {}, role));
    sum_ = residual_;
    if (!spec_.in_place) {
      NORITE_TRY_ASSIGN(sum_, output("sum", spec_.dtype, spec_.shape, layout()));
    }
    return {};
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::residual_rms_norm(encoder, {.x = x_->view(),
                                            .residual = residual_->view(),
                                            .weight = view_of(weight_),
                                            .sum = sum_->view(),
                                            .y = y_->view(),
                                            .rms_inv = view_of(rms_inv_),
                                            .eps = spec_.eps,
                                            .weight_mode = weight_mode(spec_.weight),
                                            .rounding = spec_.rounding});
  }

 private:
  /// The sum as it is stored: added in f32, then rounded to the dtype.
  Values normalised_row(int64_t row) const override {
    Values sum = x_->row(row);
    const Values residual = residual_->row(row);
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = round_to(spec_.dtype, static_cast<float>(sum[i]) + static_cast<float>(residual[i]));
    }
    return sum;
  }

  /// Sums are exact to the last bit: there is one right answer.
  Result<void> compare(Comparison& comparison) const override {
    NORITE_TRY(NormProblem::compare(comparison));
    NORITE_TRY_ASSIGN(const Snapshot got, sum_->snapshot());
    for (const int64_t row : checked_rows(*sum_)) {
      const auto expected = exactly(normalised_row(row));
      comparison.elements(*sum_, got, row * sum_->row_length(), expected, 0);
    }
    return {};
  }

  const Tensor* residual_ = nullptr;
  const Tensor* sum_ = nullptr;  ///< residual_ itself when in place
};

Case row(const NormSpec& spec, unsigned suites, std::string model = {}) {
  const Work work = norm_work(spec, {.reads = 2, .writes = 2, .flops = 5});
  return norm_case("residual_rms_norm", make_residual_rms_norm, spec, work, suites,
                   std::move(model));
}

}  // namespace

Result<ProblemPtr> make_residual_rms_norm(const NormSpec& spec, const Device& device, Data data) {
  return make_problem<ResidualRmsNormProblem>(spec, device, std::move(data));
}

std::vector<Case> residual_rms_norm_cases() {
  std::vector<Case> cases;
  for (const NormSpec& spec : norm_verify_specs(Density::sparse)) {
    cases.push_back(row(spec, kVerify));
  }
  for (const NormSpec& spec : norm_gpu_verify_specs()) cases.push_back(row(spec, kVerifyGpu));
  for (const NormSpec& spec : norm_bench_specs()) cases.push_back(row(spec, kBench));
  for (const NormSpec& spec : norm_gpu_bench_specs(false)) cases.push_back(row(spec, kBenchGpu));

  cases.push_back(row({.dtype = DType::bf16, .shape = {8192, 4096}}, kDemo, "Qwen3 8B"));
  cases.push_back(row({.dtype = DType::f32, .shape = {4096, 4096}, .eps = 1e-5f}, kDemo,
                      "Llama 3 8B, training"));
  return cases;
}

}  // namespace norite::cases
