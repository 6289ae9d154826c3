// SPDX-License-Identifier: MIT
#include "cases/norm_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/rms_norm.hpp>

namespace norite::cases {
namespace {

class RmsNormProblem final : public NormProblem {
 public:
  using NormProblem::NormProblem;

  Result<void> encode(Encoder& encoder) const override {
    return ops::rms_norm(encoder, {.x = x_->view(),
                                   .weight = view_of(weight_),
                                   .y = y_->view(),
                                   .rms_inv = view_of(rms_inv_),
                                   .eps = spec_.eps,
                                   .weight_mode = weight_mode(spec_.weight),
                                   .rounding = spec_.rounding});
  }
};

Case row(const NormSpec& spec, unsigned suites, std::string model = {}) {
  const Work work = norm_work(spec, {.reads = 1, .writes = 1, .flops = 4});
  return norm_case("rms_norm", make_rms_norm, spec, work, suites, std::move(model));
}

/// Four gigabytes of bf16, in place. Wrong 32-bit index arithmetic shows in the rows at the end.
Case large_case() {
  constexpr int64_t kNeededBytes = int64_t{16} << 30;
  Case large = row({.dtype = DType::bf16, .shape = {524'289, 4096}, .in_place = true}, kLarge);
  large.prepare = require_memory(kNeededBytes, std::move(large.prepare));
  return large;
}

}  // namespace

Result<ProblemPtr> make_rms_norm(const NormSpec& spec, const Device& device, Data data) {
  return make_problem<RmsNormProblem>(spec, device, std::move(data));
}

std::vector<Case> rms_norm_cases() {
  std::vector<Case> cases;
  for (const NormSpec& spec : norm_verify_specs(Density::dense)) {
    cases.push_back(row(spec, kVerify));
  }
  for (const NormSpec& spec : norm_gpu_verify_specs()) cases.push_back(row(spec, kVerifyGpu));
  for (const NormSpec& spec : norm_bench_specs()) cases.push_back(row(spec, kBench));
  for (const NormSpec& spec : norm_gpu_bench_specs(true)) cases.push_back(row(spec, kBenchGpu));
  cases.push_back(large_case());

  const auto before_weight = ops::Rounding::before_weight;
  cases.push_back(
      row({.dtype = DType::bf16, .shape = {8192, 4096}, .rounding = before_weight, .eps = 1e-5f},
          kDemo, "Llama 3 8B"));
  cases.push_back(row({.dtype = DType::f16, .shape = {8192, 5120}}, kDemo, "Qwen3 14B"));
  cases.push_back(row({.dtype = DType::bf16, .shape = {8192, 3840}, .weight = Weight::one_plus},
                      kDemo, "Gemma 3 12B"));
  cases.push_back(row({.dtype = DType::f32, .shape = {4096, 4096}, .rms_inv = true, .eps = 1e-5f},
                      kDemo, "Llama 3 8B, training"));
  return cases;
}

}  // namespace norite::cases
