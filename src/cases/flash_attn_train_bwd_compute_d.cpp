// SPDX-License-Identifier: MIT
#include <norite/ops/flash_attn_train_bwd_compute_d.hpp>

#include "cases/attention.hpp"
#include "cases/norm_problem.hpp"
#include "cases/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace norite::cases {
namespace {

class ComputeDProblem final : public Problem {
 public:
  ComputeDProblem(const ComputeDSpec& spec, const Device& device, Data data)
      : Problem(device, std::move(data)), spec_(spec) {}

  Result<void> prepare() override {
    const bool transpose_o = spec_.transposed || spec_.mixed;
    NORITE_TRY_ASSIGN(o_, input("o", spec_.dtype, spec_.shape, layout(transpose_o)));
    NORITE_TRY_ASSIGN(d_o_, input("d_o", spec_.dtype, spec_.shape, layout(spec_.transposed)));
    NORITE_TRY_ASSIGN(d_, output("d", DType::f32, without_last(spec_.shape)));
    return {};
  }

  Result<void> encode(Encoder& encoder) const override {
    return ops::flash_attn_train_bwd_compute_d(
        encoder, {.o = o_->view(), .d_o = d_o_->view(), .d = d_->view()});
  }

 private:
  Result<void> compare(Comparison& comparison) const override {
    NORITE_TRY_ASSIGN(const Snapshot got, d_->snapshot());
    for (const int64_t row : checked_rows(*o_)) {
      const Values o = o_->row(row);
      const Values d_o = d_o_->row(row);
      Expected d;
      for (size_t i = 0; i < o.size(); ++i) {
        d.value += o[i] * d_o[i];
        d.magnitude += std::abs(o[i] * d_o[i]);
        d.slack += kTiny;
      }
      comparison.elements(*d_, got, row, std::span(&d, 1), tolerance(DType::f32, o_->row_length()));
    }
    return {};
  }

  [[nodiscard]] Layout layout(bool transposed) const {
    Layout layout{.row_gap = spec_.strided ? kRowGap : 0};
    if (transposed) layout.order = {0, 2, 1, 3};
    return layout;
  }

  ComputeDSpec spec_;
  const Tensor* o_ = nullptr;
  const Tensor* d_o_ = nullptr;
  const Tensor* d_ = nullptr;
};

Case row(const ComputeDSpec& spec, unsigned suites, std::string model = {}) {
  const std::string_view op = "flash_attn_train_bwd_compute_d";
  std::string name = fmt::format("{}[{},shape={}{}{}{}]", op, norite::name(spec.dtype),
                                 fmt::join(spec.shape.begin(), spec.shape.end(), "x"),
                                 spec.transposed ? ",transposed" : "", spec.mixed ? ",mixed" : "",
                                 spec.strided ? ",strided" : "");
  const int64_t count = spec.shape.count().value_or(0);
  return {.op = std::string(op),
          .name = name,
          .model = std::move(model),
          .dtype = spec.dtype,
          .shape = spec.shape,
          .work = {.bytes_read = 2 * count * size_of(spec.dtype),
                   .bytes_written = row_count(spec.shape) * size_of(DType::f32),
                   .flops = 2 * count},
          .suites = suites,
          .roof = Roof::read,
          .prepare = [spec, name](const Device& device, FillKind fill) {
            return make_compute_d(spec, device, {.seed = name, .fill = fill});
          }};
}

}  // namespace

Result<ProblemPtr> make_compute_d(const ComputeDSpec& spec, const Device& device, Data data) {
  return make_problem<ComputeDProblem>(spec, device, std::move(data));
}

std::vector<Case> flash_attn_train_bwd_compute_d_cases() {
  std::vector<Case> cases;
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t dim : {1, 2, 15, 16, 17, 31, 32, 33, 64, 80, 96, 128, 256, 257, 512, 4099}) {
      cases.push_back(row({.dtype = dtype, .shape = {1, 2, 3, dim}}, kVerify));
    }
    for (const Shape& shape : {Shape{1, 1, 1, 64}, Shape{2, 3, 33, 64}, Shape{3, 1, 257, 128}}) {
      cases.push_back(row({.dtype = dtype, .shape = shape}, kVerify));
      cases.push_back(row({.dtype = dtype, .shape = shape, .transposed = true}, kVerify));
    }
    const Shape shape = {2, 3, 5, 80};
    cases.push_back(row({.dtype = dtype, .shape = shape, .mixed = true}, kVerify));
    cases.push_back(row({.dtype = dtype, .shape = shape, .strided = true}, kVerify));
    cases.push_back(
        row({.dtype = dtype, .shape = shape, .transposed = true, .strided = true}, kVerify));
    for (const int64_t dim : {64, 128, 256}) {
      const int64_t queries = rows_beyond_cache(dtype, 16 * dim);
      cases.push_back(row({.dtype = dtype, .shape = {1, 16, queries, dim}}, kBench));
    }
    cases.push_back(row({.dtype = dtype, .shape = {1, 32, 64, 128}}, kBench));
    for (const Shape& large :
         {Shape{4, 32, 8192, 128}, Shape{2, 32, 32768, 64}, Shape{2, 16, 16384, 256}}) {
      if (dtype != DType::f16) cases.push_back(row({.dtype = dtype, .shape = large}, kBenchGpu));
    }
  }
  cases.push_back(row({.dtype = DType::bf16, .shape = {1, 32, 8192, 128}, .transposed = true},
                      kDemo, "Llama 3 8B, training"));
  cases.push_back(
      row({.dtype = DType::f32, .shape = {1, 8, 8192, 256}}, kDemo, "Gemma 3 4B, training"));
  return cases;
}

}  // namespace norite::cases
