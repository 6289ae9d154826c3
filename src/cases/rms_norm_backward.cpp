// SPDX-License-Identifier: MIT
#include "cases/norm_problem.hpp"
#include "cases/table.hpp"

#include <norite/ops/rms_norm_backward.hpp>

#include <fmt/format.h>

#include <cmath>

namespace norite::cases {
namespace {

using InPlace = NormBackwardSpec::InPlace;

class RmsNormBackwardProblem final : public Problem {
 public:
  RmsNormBackwardProblem(const NormBackwardSpec& spec, const Device& device, Data data)
      : Problem(device, std::move(data)), spec_(spec) {}

  Result<void> prepare() override {
    NORITE_TRY(prepare_inputs());
    return prepare_outputs();
  }

  Result<void> encode(Encoder& encoder) const override {
    if (spec_.parts) return encode_parts(encoder);
    return ops::rms_norm_backward(encoder, {.x = x_->view(),
                                            .weight = view_of(weight_),
                                            .dy = dy_->view(),
                                            .rms_inv = view_of(rms_inv_),
                                            .dresidual = view_of(dresidual_),
                                            .dx = view_of(dx_),
                                            .dw = view_of(dw_),
                                            .eps = spec_.eps,
                                            .weight_mode = weight_mode(spec_.weight)});
  }

 private:
  Result<void> prepare_inputs() {
    const auto role = [&](InPlace tensor) {
      return spec_.in_place == tensor ? Role::in_place : Role::input;
    };
    NORITE_TRY_ASSIGN(x_, input("x", spec_.dtype, spec_.shape, layout()));
    NORITE_TRY_ASSIGN(dy_, input("dy", spec_.dtype, spec_.shape, layout(), {}, role(InPlace::dy)));
    if (spec_.weight != Weight::none) {
      NORITE_TRY_ASSIGN(weight_, input("weight", weight_type(), {spec_.shape.back()}));
    }
    if (spec_.dresidual) {
      NORITE_TRY_ASSIGN(dresidual_, input("dresidual", spec_.dtype, spec_.shape, layout(), {},
                                          role(InPlace::dresidual)));
    }
    if (!spec_.given_rms_inv) return {};
    Values r;
    for (int64_t row = 0; row < x_->row_count(); ++row) {
      r.push_back(rms_inv(x_->row(row), spec_.eps));
    }
    NORITE_TRY_ASSIGN(rms_inv_, input("rms_inv", DType::f32, without_last(spec_.shape), {}, r));
    return {};
  }

  Result<void> prepare_outputs() {
    if (spec_.parts) {
      NORITE_TRY_ASSIGN(rms_inv_, output("rms_inv", DType::f32, without_last(spec_.shape)));
    }
    if (spec_.in_place == InPlace::dy) dx_ = dy_;
    if (spec_.in_place == InPlace::dresidual) dx_ = dresidual_;
    if (spec_.dx && dx_ == nullptr) {
      NORITE_TRY_ASSIGN(dx_, output("dx", spec_.dtype, spec_.shape, layout()));
    }
    if (spec_.dw && spec_.weight != Weight::none) {
      const DType dtype = spec_.f32_dw ? DType::f32 : weight_type();
      NORITE_TRY_ASSIGN(dw_, output("dw", dtype, {spec_.shape.back()}));
    }
    return {};
  }

  Result<void> encode_parts(Encoder& encoder) const {
    const View r = rms_inv_->view();
    NORITE_TRY(
        ops::rms_norm_compute_rms_inv(encoder, {.x = x_->view(), .rms_inv = r, .eps = spec_.eps}));
    NORITE_TRY(ops::rms_norm_backward_dx(encoder, {.x = x_->view(),
                                                   .weight = view_of(weight_),
                                                   .dy = dy_->view(),
                                                   .rms_inv = r,
                                                   .dx = dx_->view(),
                                                   .weight_mode = weight_mode(spec_.weight)}));
    return ops::rms_norm_backward_dw(
        encoder, {.x = x_->view(), .dy = dy_->view(), .rms_inv = r, .dw = dw_->view()});
  }

  Result<void> compare(Comparison& comparison) const override {
    if (dx_ != nullptr) NORITE_TRY(compare_dx(comparison));
    if (dw_ != nullptr) NORITE_TRY(compare_dw(comparison));
    return spec_.parts ? compare_rms_inv(comparison) : Result<void>{};
  }

  Result<void> compare_dx(Comparison& comparison) const {
    const int64_t dim = x_->row_length();
    const auto factors = weight_factors(spec_.weight, weight_, dim);
    NORITE_TRY_ASSIGN(const Snapshot got, dx_->snapshot());
    for (const int64_t row : checked_rows(*x_)) {
      const Values x = x_->row(row);
      auto dx = norm_backward_dx(x, exactly(dy_->row(row)), factors, r_of(row, x));
      if (dresidual_ != nullptr) add_dresidual(row, dx);
      comparison.elements(*dx_, got, row * dim, dx, tolerance(spec_.dtype, dim));
    }
    return {};
  }

  Result<void> compare_dw(Comparison& comparison) const {
    const int64_t dim = x_->row_length();
    std::vector<Expected> dw(static_cast<size_t>(dim));
    for (int64_t row = 0; row < x_->row_count(); ++row) {
      const Values x = x_->row(row);
      norm_backward_dw(x, exactly(dy_->row(row)), r_of(row, x), dw);
    }
    NORITE_TRY_ASSIGN(const Snapshot got, dw_->snapshot());
    comparison.elements(*dw_, got, 0, dw, tolerance(dw_->view().dtype(), dim + x_->row_count()));
    return {};
  }

  Result<void> compare_rms_inv(Comparison& comparison) const {
    NORITE_TRY_ASSIGN(const Snapshot got, rms_inv_->snapshot());
    for (const int64_t row : checked_rows(*x_)) {
      const double r = rms_inv(x_->row(row), spec_.eps);
      const Expected expected[] = {{.value = r, .magnitude = r}};
      comparison.elements(*rms_inv_, got, row, expected, tolerance(DType::f32, x_->row_length()));
    }
    return {};
  }

  void add_dresidual(int64_t row, std::span<Expected> dx) const {
    const Values dresidual = dresidual_->row(row);
    for (size_t i = 0; i < dx.size(); ++i) {
      dx[i].value += dresidual[i];
      dx[i].magnitude += std::abs(dresidual[i]);
    }
  }

  [[nodiscard]] double r_of(int64_t row, std::span<const double> x) const {
    return spec_.given_rms_inv ? rms_inv_->at(row) : rms_inv(x, spec_.eps);
  }

  [[nodiscard]] Layout layout() const { return {.row_gap = spec_.strided ? kRowGap : 0}; }
  [[nodiscard]] DType weight_type() const { return weight_dtype(spec_.dtype, spec_.f32_weight); }

  NormBackwardSpec spec_;
  const Tensor* x_ = nullptr;
  const Tensor* weight_ = nullptr;
  const Tensor* dy_ = nullptr;
  const Tensor* rms_inv_ = nullptr;
  const Tensor* dresidual_ = nullptr;
  const Tensor* dx_ = nullptr;
  const Tensor* dw_ = nullptr;
};

std::string describe(const NormBackwardSpec& spec) {
  std::string text = describe_rows(spec.shape);
  text += describe_weight(spec.weight, spec.f32_weight, spec.dtype);
  if (spec.weight != Weight::none && !spec.dx) text += ",dw_only";
  if (spec.weight != Weight::none && !spec.dw) text += ",dx_only";
  if (!spec.f32_dw) text += fmt::format(",dw={}", name(weight_dtype(spec.dtype, spec.f32_weight)));
  if (spec.given_rms_inv) text += ",rms_inv";
  if (spec.dresidual) text += ",dresidual";
  if (spec.strided) text += ",strided";
  if (spec.in_place == InPlace::dy) text += ",in_place=dy";
  if (spec.in_place == InPlace::dresidual) text += ",in_place=dresidual";
  if (spec.parts) text += ",parts";
  if (spec.eps != kDefaultEps) text += fmt::format(",eps={}", spec.eps);
  return text;
}

Work work_of(const NormBackwardSpec& spec) {
  const int64_t count = spec.shape.count().value_or(0);
  const int64_t operand = count * size_of(spec.dtype);
  const int64_t row_scalars = row_count(spec.shape) * size_of(DType::f32);
  const int64_t dim = spec.shape.back();
  const bool weighted = spec.weight != Weight::none;
  const DType weight = weight_dtype(spec.dtype, spec.f32_weight);
  return {.bytes_read = (spec.dresidual ? 3 : 2) * operand +
                        (weighted ? dim * size_of(weight) : 0) +
                        (spec.given_rms_inv ? row_scalars : 0),
          .bytes_written = (spec.dx ? operand : 0) + (weighted && spec.dw ? dim * 4 : 0),
          .flops = (spec.dx ? 9 : 2) * count + (weighted && spec.dw ? 3 * count : 0)};
}

Case row(const NormBackwardSpec& spec, unsigned suites, std::string model = {}) {
  std::string name =
      fmt::format("rms_norm_backward[{},{}]", norite::name(spec.dtype), describe(spec));
  return {.op = "rms_norm_backward",
          .name = name,
          .model = std::move(model),
          .dtype = spec.dtype,
          .shape = spec.shape,
          .work = work_of(spec),
          .suites = suites,
          .roof = Roof::copy,
          .prepare = [spec, name](const Device& device, FillKind fill) {
            return make_rms_norm_backward(spec, device, {.seed = name, .fill = fill});
          }};
}

std::vector<NormBackwardSpec> option_specs(DType dtype) {
  const NormBackwardSpec base{.dtype = dtype, .shape = {7, 257}};
  std::vector<NormBackwardSpec> specs;
  const auto add = [&](auto change) {
    NormBackwardSpec spec = base;
    change(spec);
    specs.push_back(spec);
  };
  using Spec = NormBackwardSpec;
  add([](Spec& s) { s.weight = Weight::none; });
  add([](Spec& s) { s.weight = Weight::one_plus; });
  add([](Spec& s) { s.given_rms_inv = true; });
  add([](Spec& s) { s.dresidual = true; });
  add([](Spec& s) { s.dx = false; });
  add([](Spec& s) { s.dx = false, s.given_rms_inv = s.strided = true; });
  add([](Spec& s) { s.dw = false; });
  add([](Spec& s) { s.strided = true; });
  add([](Spec& s) { s.strided = s.dresidual = s.given_rms_inv = true; });
  add([](Spec& s) { s.in_place = InPlace::dy; });
  add([](Spec& s) { s.in_place = InPlace::dresidual, s.dresidual = true; });
  add([](Spec& s) { s.parts = true; });
  add([](Spec& s) { s.parts = s.strided = true; });
  add([](Spec& s) { s.shape = {2, 3, 2, 65}, s.strided = true; });
  add([](Spec& s) { s.eps = 1e-2f; });
  if (dtype == DType::f32) return specs;
  add([](Spec& s) { s.f32_weight = true; });
  add([](Spec& s) { s.f32_weight = true, s.weight = Weight::one_plus; });
  add([](Spec& s) { s.f32_dw = false; });
  add([](Spec& s) { s.f32_dw = false, s.parts = true; });
  return specs;
}

/// Every option once more for rows that several groups of a GPU share, a few of them at a time.
std::vector<NormBackwardSpec> long_specs(DType dtype, int64_t dim) {
  const Shape shape = {2, dim};
  std::vector<NormBackwardSpec> specs = {
      {.dtype = dtype, .shape = shape, .weight = Weight::none, .dresidual = true},
      {.dtype = dtype,
       .shape = shape,
       .weight = Weight::one_plus,
       .given_rms_inv = true,
       .in_place = InPlace::dy},
      {.dtype = dtype, .shape = shape, .dx = false},
      {.dtype = dtype,
       .shape = shape,
       .dresidual = true,
       .dw = false,
       .in_place = InPlace::dresidual},
      {.dtype = dtype, .shape = shape, .strided = true, .parts = true}};
  if (dtype == DType::f32) return specs;
  specs.push_back({.dtype = dtype, .shape = shape, .f32_weight = true});
  specs.push_back({.dtype = dtype,
                   .shape = shape,
                   .weight = Weight::one_plus,
                   .f32_dw = false,
                   .dresidual = true});
  return specs;
}

}  // namespace

Result<ProblemPtr> make_rms_norm_backward(const NormBackwardSpec& spec, const Device& device,
                                          Data data) {
  return make_problem<RmsNormBackwardProblem>(spec, device, std::move(data));
}

std::vector<Case> rms_norm_backward_cases() {
  std::vector<Case> cases;
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t dim : {1, 15, 16, 17, 31, 32, 33, 65, 257, 1023, 1025}) {
      cases.push_back(row({.dtype = dtype, .shape = {3, dim}}, kVerify));
    }
    for (const int64_t dim : {2816, 4096, 4099, 20001, 40000, 100003}) {
      cases.push_back(row({.dtype = dtype, .shape = {2, dim}}, kVerify));
    }
    for (const int64_t rows : {1, 2, 31, 32, 33, 64, 257, 1025}) {
      cases.push_back(row({.dtype = dtype, .shape = {rows, 96}}, kVerify));
    }
    for (const NormBackwardSpec& spec : option_specs(dtype)) cases.push_back(row(spec, kVerify));
    // GPUs take 16-bit rows of this length together, and have no more rows than these.
    for (const int64_t rows : {2, 6}) {
      cases.push_back(row({.dtype = dtype, .shape = {rows, 1003}, .eps = 0}, kVerify));
    }
    for (const int64_t dim : {12289, 12288}) {
      for (const NormBackwardSpec& spec : long_specs(dtype, dim)) {
        cases.push_back(row(spec, kVerify));
      }
    }
    for (const int64_t dim : {384, 704, 1000, 1504, 2000}) {  // 16-bit rows: staged, in every tile
      cases.push_back(row({.dtype = dtype, .shape = {300, dim}, .dresidual = true}, kVerifyGpu));
    }
    for (const int64_t dim : kSharedDims) {
      cases.push_back(row({.dtype = dtype, .shape = {3, dim}}, kVerifyGpu));
      for (const NormBackwardSpec& spec : long_specs(dtype, dim)) {
        cases.push_back(row(spec, kVerifyGpu));
      }
    }
    for (const int64_t dim : {4096, 5120}) {
      const Shape shape = {rows_beyond_cache(dtype, dim), dim};
      cases.push_back(row({.dtype = dtype, .shape = shape}, kBench));
    }
    cases.push_back(row({.dtype = dtype, .shape = {64, 4096}}, kBench));
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Shape& shape : gpu_bench_shapes(true)) {
      cases.push_back(row({.dtype = dtype, .shape = shape}, kBenchGpu));
    }
  }
  cases.push_back(row({.dtype = DType::bf16, .shape = {8192, 4096}, .dresidual = true}, kDemo,
                      "Qwen3 8B, training"));
  cases.push_back(row({.dtype = DType::bf16, .shape = {8192, 2560}, .weight = Weight::one_plus},
                      kDemo, "Gemma 3 4B, training"));
  cases.push_back(
      row({.dtype = DType::f32, .shape = {4096, 4096}, .given_rms_inv = true, .eps = 1e-5f}, kDemo,
          "Llama 3 8B, training"));
  return cases;
}

}  // namespace norite::cases
