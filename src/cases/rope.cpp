// SPDX-License-Identifier: MIT
#include "cases/rope_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/rope.hpp>

namespace norite::cases {
namespace {

using Copy = RopeSpec::Copy;

/// Products that an element of a rotation adds up.
constexpr int64_t kRotationTerms = 2;

class RopeForwardProblem final : public HeadMapProblem {
 public:
  using HeadMapProblem::HeadMapProblem;

  Result<void> prepare() override {
    NORITE_TRY(prepare_heads("x", "y"));
    return prepare_angles();
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::rope(encoder, {.x = in_->view(),
                               .y = out_->view(),
                               .copy = view_of(copy_),
                               .angles = angles(),
                               .pairing = spec_.pairing,
                               .half_rope_dim = spec_.half_rope_dim});
  }

 private:
  std::vector<Expected> expected_head(int64_t row) const override {
    return rotated(exactly(in_->row(row)), row, Direction::forward);
  }
  int64_t terms() const override { return kRotationTerms; }
};

class RopeBackwardProblem final : public HeadMapProblem {
 public:
  using HeadMapProblem::HeadMapProblem;

  Result<void> prepare() override {
    NORITE_TRY(prepare_heads("dy", "dx"));
    return prepare_angles();
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::rope_backward(encoder, {.dy = in_->view(),
                                        .dx = out_->view(),
                                        .angles = angles(),
                                        .pairing = spec_.pairing,
                                        .half_rope_dim = spec_.half_rope_dim});
  }

 private:
  std::vector<Expected> expected_head(int64_t row) const override {
    return rotated(exactly(in_->row(row)), row, Direction::backward);
  }
  int64_t terms() const override { return kRotationTerms; }
};

Case row(std::string_view op, RopeMaker make, const RopeSpec& spec, unsigned suites,
         std::string model = {}) {
  return rope_case(op, make, spec, rope_work(spec, 1, 1, 3), suites, std::move(model));
}

std::vector<Case> shared_cases(std::string_view op, RopeMaker make) {
  std::vector<Case> cases;
  for (const RopeSpec& spec : rotation_specs()) cases.push_back(row(op, make, spec, kVerify));
  for (const RopeSpec& spec : rope_bench_specs()) cases.push_back(row(op, make, spec, kBench));
  return cases;
}

/// Llama 3: 32 query heads of 128, theta 500 000; from 3.1 on with frequency factors.
RopeSpec llama3(DType dtype) {
  return {.dtype = dtype, .tokens = 8192, .heads = 32, .head_dim = 128, .theta = 500000.0f};
}

}  // namespace

Result<ProblemPtr> make_rope(const RopeSpec& spec, const Device& device, Data data) {
  return make_problem<RopeForwardProblem>(spec, device, std::move(data));
}

Result<ProblemPtr> make_rope_backward(const RopeSpec& spec, const Device& device, Data data) {
  return make_problem<RopeBackwardProblem>(spec, device, std::move(data));
}

std::vector<Case> rope_cases() {
  std::vector<Case> cases = shared_cases("rope", make_rope);
  for (const DType dtype : kFloatDTypes) {
    RopeSpec spec{.dtype = dtype, .tokens = 5, .heads = 3, .head_dim = 96};
    for (const DType copy_dtype : kFloatDTypes) {
      spec.copy = Copy::permuted;
      spec.copy_dtype = copy_dtype;
      cases.push_back(row("rope", make_rope, spec, kVerify));
    }
  }
  cases.push_back(row("rope", make_rope, llama3(DType::bf16), kDemo, "Llama 3 8B queries"));
  RopeSpec scaled = llama3(DType::f16);
  scaled.freq_factors = true;
  cases.push_back(row("rope", make_rope, scaled, kDemo, "Llama 3.1 8B, scaled"));
  return cases;
}

std::vector<Case> rope_backward_cases() {
  std::vector<Case> cases = shared_cases("rope_backward", make_rope_backward);
  cases.push_back(
      row("rope_backward", make_rope_backward, llama3(DType::bf16), kDemo, "Llama 3 8B, training"));
  return cases;
}

}  // namespace norite::cases
