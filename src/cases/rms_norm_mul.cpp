// SPDX-License-Identifier: MIT
#include "cases/norm_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/rms_norm_mul.hpp>

#include <cmath>

namespace norite::cases {
namespace {

class RmsNormMulProblem final : public NormProblem {
 public:
  using NormProblem::NormProblem;

  Result<void> prepare() override {
    NORITE_TRY(NormProblem::prepare());
    Layout scale_layout = layout();
    scale_layout.repeat_row = spec_.repeat_scale;
    NORITE_TRY_ASSIGN(scale_, input("scale", spec_.dtype, spec_.shape, scale_layout));
    return {};
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::rms_norm_mul(encoder, {.x = x_->view(),
                                       .weight = view_of(weight_),
                                       .scale = scale_->view(),
                                       .y = y_->view(),
                                       .rms_inv = view_of(rms_inv_),
                                       .eps = spec_.eps,
                                       .weight_mode = weight_mode(spec_.weight),
                                       .rounding = spec_.rounding});
  }

 private:
  void finish_row(int64_t row, std::span<Expected> y) const override {
    const Values scale = scale_->row(row);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i].slack = y[i].slack * std::abs(scale[i]) + kTiny * (1 + y[i].magnitude);
      y[i].value *= scale[i];
      y[i].magnitude *= std::abs(scale[i]);
    }
  }

  const Tensor* scale_ = nullptr;
};

Case row(const NormSpec& spec, unsigned suites, std::string model = {}) {
  const Work work = norm_work(spec, {.reads = 2, .writes = 1, .flops = 5});
  return norm_case("rms_norm_mul", make_rms_norm_mul, spec, work, suites, std::move(model));
}

}  // namespace

Result<ProblemPtr> make_rms_norm_mul(const NormSpec& spec, const Device& device, Data data) {
  return make_problem<RmsNormMulProblem>(spec, device, std::move(data));
}

std::vector<Case> rms_norm_mul_cases() {
  std::vector<Case> cases;
  for (const NormSpec& spec : norm_verify_specs(Density::sparse)) {
    cases.push_back(row(spec, kVerify));
  }
  for (const NormSpec& spec : norm_gpu_verify_specs()) cases.push_back(row(spec, kVerifyGpu));
  for (const DType dtype : kFloatDTypes) {
    cases.push_back(row({.dtype = dtype, .shape = {7, 65}, .repeat_scale = true}, kVerify));
  }
  for (const NormSpec& spec : norm_bench_specs()) cases.push_back(row(spec, kBench));
  for (const NormSpec& spec : norm_gpu_bench_specs(false)) cases.push_back(row(spec, kBenchGpu));

  cases.push_back(row({.dtype = DType::bf16, .shape = {8192, 2560}, .weight = Weight::one_plus},
                      kDemo, "Gemma 3 4B"));
  cases.push_back(row({.dtype = DType::f16, .shape = {8192, 4096}}, kDemo, "Qwen3 8B"));
  return cases;
}

}  // namespace norite::cases
