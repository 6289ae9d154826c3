// SPDX-License-Identifier: MIT
#include "cases/rope_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/fused_head_norm_rope_backward.hpp>

namespace norite::cases {
namespace {

class FusedHeadNormRopeBackwardProblem final : public RopeProblem {
 public:
  using RopeProblem::RopeProblem;

  Result<void> prepare() override {
    const Shape shape = spec_.shape();
    const Role role = spec_.in_place ? Role::in_place : Role::input;
    NORITE_TRY_ASSIGN(x_, input("x", spec_.dtype, shape, layout()));
    NORITE_TRY_ASSIGN(dy_, input("dy", spec_.dtype, shape, layout(), {}, role));
    NORITE_TRY(prepare_weight());
    NORITE_TRY(prepare_angles());
    if (spec_.in_place) dx_ = dy_;
    if (spec_.dx && !spec_.in_place) {
      NORITE_TRY_ASSIGN(dx_, output("dx", spec_.dtype, shape, layout()));
    }
    if (spec_.dw && weight_ != nullptr) {
      const DType dtype = spec_.f32_dw ? DType::f32 : weight_->view().dtype();
      NORITE_TRY_ASSIGN(dw_, output("dw", dtype, {spec_.head_dim}));
    }
    return {};
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::fused_head_norm_rope_backward(encoder, {.x = x_->view(),
                                                        .weight = view_of(weight_),
                                                        .dy = dy_->view(),
                                                        .dx = view_of(dx_),
                                                        .dw = view_of(dw_),
                                                        .angles = angles(),
                                                        .pairing = spec_.pairing,
                                                        .half_rope_dim = spec_.half_rope_dim,
                                                        .eps = spec_.eps,
                                                        .weight_mode = weight_mode(spec_.weight)});
  }

 private:
  Result<void> compare(Comparison& comparison) const override {
    if (dx_ != nullptr) NORITE_TRY(compare_dx(comparison));
    return dw_ != nullptr ? compare_dw(comparison) : Result<void>{};
  }

  Result<void> compare_dx(Comparison& comparison) const {
    const auto factors = weight_factors(spec_.weight, weight_, spec_.head_dim);
    NORITE_TRY_ASSIGN(const Snapshot got, dx_->snapshot());
    for (const int64_t row : checked_rows(*x_)) {
      const Values x = x_->row(row);
      const auto dx = norm_backward_dx(x, gradient(row), factors, rms_inv(x, spec_.eps));
      comparison.elements(*dx_, got, row * spec_.head_dim, dx,
                          tolerance(spec_.dtype, spec_.head_dim));
    }
    return {};
  }

  Result<void> compare_dw(Comparison& comparison) const {
    std::vector<Expected> dw(static_cast<size_t>(spec_.head_dim));
    for (int64_t row = 0; row < x_->row_count(); ++row) {
      const Values x = x_->row(row);
      norm_backward_dw(x, gradient(row), rms_inv(x, spec_.eps), dw);
    }
    NORITE_TRY_ASSIGN(const Snapshot got, dw_->snapshot());
    comparison.elements(*dw_, got, 0, dw,
                        tolerance(dw_->view().dtype(), spec_.head_dim + x_->row_count()));
    return {};
  }

  /// The gradient before the norm's backward: dy rotated back.
  [[nodiscard]] std::vector<Expected> gradient(int64_t row) const {
    return rotated(exactly(dy_->row(row)), row, Direction::backward);
  }

  const Tensor* x_ = nullptr;
  const Tensor* dy_ = nullptr;
  const Tensor* dx_ = nullptr;  ///< dy_ itself when in place
  const Tensor* dw_ = nullptr;
};

Case row(const RopeSpec& spec, unsigned suites, std::string model = {}) {
  return rope_case("fused_head_norm_rope_backward", make_fused_head_norm_rope_backward, spec,
                   rope_work(spec, 2, spec.dx ? 1 : 0, 15), suites, std::move(model));
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
  add([](Spec& s) { s.dx = false; });
  add([](Spec& s) { s.dw = false; });
  add([](Spec& s) { s.eps = 1e-2f; });
  if (dtype == DType::f32) return specs;
  add([](Spec& s) { s.f32_weight = true; });
  add([](Spec& s) { s.f32_weight = true, s.weight = Weight::one_plus; });
  add([](Spec& s) { s.f32_dw = false; });
  return specs;
}

}  // namespace

Result<ProblemPtr> make_fused_head_norm_rope_backward(const RopeSpec& spec, const Device& device,
                                                      Data data) {
  return make_problem<FusedHeadNormRopeBackwardProblem>(spec, device, std::move(data));
}

std::vector<Case> fused_head_norm_rope_backward_cases() {
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

  cases.push_back(
      row({.dtype = DType::bf16, .tokens = 8192, .heads = 32, .head_dim = 128, .theta = 1e6f},
          kDemo, "Qwen3 8B, training"));
  cases.push_back(row({.dtype = DType::bf16,
                       .tokens = 8192,
                       .heads = 8,
                       .head_dim = 256,
                       .theta = 1e6f,
                       .weight = Weight::one_plus},
                      kDemo, "Gemma 3 4B, training"));
  cases.push_back(
      row({.dtype = DType::f32, .tokens = 8192, .heads = 16, .head_dim = 128, .theta = 1e6f}, kDemo,
          "Qwen3 0.6B, training"));
  return cases;
}

}  // namespace norite::cases
