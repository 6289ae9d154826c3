// SPDX-License-Identifier: MIT
#include "cases/rope_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/fused_head_norm_rope.hpp>

namespace norite::cases {
namespace {

using Copy = RopeSpec::Copy;

class FusedHeadNormRopeProblem final : public HeadMapProblem {
 public:
  using HeadMapProblem::HeadMapProblem;

  Result<void> prepare() override {
    NORITE_TRY(prepare_heads("x", "y"));
    NORITE_TRY(prepare_weight());
    return prepare_angles();
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::fused_head_norm_rope(encoder, {.x = in_->view(),
                                               .weight = view_of(weight_),
                                               .y = out_->view(),
                                               .copy = view_of(copy_),
                                               .angles = angles(),
                                               .pairing = spec_.pairing,
                                               .half_rope_dim = spec_.half_rope_dim,
                                               .eps = spec_.eps,
                                               .weight_mode = weight_mode(spec_.weight)});
  }

 private:
  std::vector<Expected> expected_head(int64_t row) const override {
    const Values x = in_->row(row);
    const auto factors = weight_factors(spec_.weight, weight_, spec_.head_dim);
    const auto head = normalised(x, rms_inv(x, spec_.eps), factors, DType::f32);
    return rotated(head, row, Direction::forward);
  }
  int64_t terms() const override { return spec_.head_dim; }
};

Case row(const RopeSpec& spec, unsigned suites, std::string model = {}) {
  return rope_case("fused_head_norm_rope", make_fused_head_norm_rope, spec,
                   rope_work(spec, 1, 1, 7), suites, std::move(model));
}

/// A size of no kernel's own, and a common one.
std::vector<RopeSpec> option_specs(DType dtype, int64_t head_dim) {
  const RopeSpec base{.dtype = dtype, .tokens = 5, .heads = 5, .head_dim = head_dim};
  std::vector<RopeSpec> specs;
  const auto add = [&](auto change) {
    RopeSpec spec = base;
    change(spec);
    specs.push_back(spec);
  };
  using Spec = RopeSpec;
  add([](Spec& s) { s.weight = Weight::none; });
  add([](Spec& s) { s.weight = Weight::one_plus; });
  add([](Spec& s) { s.eps = 1e-2f; });
  for (const DType copy : kFloatDTypes) {
    add([=](Spec& s) { s.copy = Copy::same, s.copy_dtype = copy; });
    add([=](Spec& s) { s.copy = Copy::permuted, s.copy_dtype = copy; });
  }
  add([=](Spec& s) { s.copy = Copy::permuted, s.copy_dtype = dtype, s.in_place = true; });
  if (dtype != DType::f32) {
    add([](Spec& s) { s.f32_weight = true; });
    add([](Spec& s) { s.f32_weight = true, s.weight = Weight::one_plus; });
  }
  return specs;
}

std::vector<Case> demo_cases() {
  return {
      row({.dtype = DType::bf16, .tokens = 8192, .heads = 32, .head_dim = 128, .theta = 1e6f},
          kDemo, "Qwen3 8B queries"),
      row({.dtype = DType::bf16,
           .tokens = 16384,
           .heads = 8,
           .head_dim = 128,
           .theta = 1e6f,
           .copy = Copy::permuted,
           .copy_dtype = DType::f16},
          kDemo, "Qwen3 8B keys, f16 cache"),
      row({.dtype = DType::bf16,
           .tokens = 8192,
           .heads = 16,
           .head_dim = 256,
           .cached = true,
           .weight = Weight::one_plus},
          kDemo, "Gemma 3 12B, cached angles"),
      row({.dtype = DType::f32, .tokens = 8192, .heads = 16, .head_dim = 128, .theta = 1e6f}, kDemo,
          "Qwen3 0.6B, training"),
  };
}

}  // namespace

Result<ProblemPtr> make_fused_head_norm_rope(const RopeSpec& spec, const Device& device,
                                             Data data) {
  return make_problem<FusedHeadNormRopeProblem>(spec, device, std::move(data));
}

std::vector<Case> fused_head_norm_rope_cases() {
  std::vector<Case> cases;
  for (const RopeSpec& spec : rotation_specs()) cases.push_back(row(spec, kVerify));
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t head_dim : {96, 128}) {
      for (const RopeSpec& spec : option_specs(dtype, head_dim)) {
        cases.push_back(row(spec, kVerify));
      }
    }
  }
  for (const RopeSpec& spec : rope_bench_specs()) cases.push_back(row(spec, kBench));
  for (const RopeSpec& spec : rope_gpu_bench_specs()) cases.push_back(row(spec, kBenchGpu));
  for (Case& demo : demo_cases()) cases.push_back(std::move(demo));
  return cases;
}

}  // namespace norite::cases
