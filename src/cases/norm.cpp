// SPDX-License-Identifier: MIT
#include "cases/norm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace norite::cases {
namespace {

std::string describe(const NormSpec& spec) {
  std::string text = describe_rows(spec.shape);
  text += describe_weight(spec.weight, spec.f32_weight, spec.dtype);
  if (spec.rounding == ops::Rounding::before_weight) text += ",before_weight";
  if (spec.strided) text += ",strided";
  if (spec.in_place) text += ",in_place";
  if (spec.rms_inv) text += ",rms_inv";
  if (spec.repeat_scale) text += ",repeat_scale";
  if (spec.eps != kDefaultEps) text += fmt::format(",eps={}", spec.eps);
  return text;
}

std::vector<NormSpec> option_specs(DType dtype) {
  using ops::Rounding;
  const NormSpec base{.dtype = dtype, .shape = {7, 257}};
  std::vector<NormSpec> specs;
  const auto add = [&](auto change) {
    NormSpec spec = base;
    change(spec);
    specs.push_back(spec);
  };
  add([](NormSpec& s) { s.weight = Weight::none; });
  add([](NormSpec& s) { s.weight = Weight::one_plus; });
  add([](NormSpec& s) { s.rounding = Rounding::before_weight; });
  add([](NormSpec& s) { s.strided = true; });
  add([](NormSpec& s) { s.in_place = true; });
  add([](NormSpec& s) { s.rms_inv = true; });
  add([](NormSpec& s) { s.strided = s.in_place = s.rms_inv = true; });
  add([](NormSpec& s) { s.shape = {2, 3, 65}, s.rms_inv = true; });
  add([](NormSpec& s) { s.shape = {2, 3, 2, 65}, s.strided = s.rms_inv = true; });
  add([](NormSpec& s) { s.eps = 1e-2f; });
  add([](NormSpec& s) { s.eps = 0.0f; });
  if (dtype == DType::f32) return specs;
  add([](NormSpec& s) { s.f32_weight = true; });
  add([](NormSpec& s) { s.f32_weight = true, s.weight = Weight::one_plus; });
  add([](NormSpec& s) { s.f32_weight = true, s.rounding = Rounding::before_weight; });
  return specs;
}

/// Every option once more for rows that several groups of a GPU share, a few of them at a time.
std::vector<NormSpec> long_specs(DType dtype, int64_t dim) {
  using ops::Rounding;
  const Shape shape = {2, dim};
  std::vector<NormSpec> specs = {
      {.dtype = dtype, .shape = shape, .weight = Weight::none, .rms_inv = true},
      {.dtype = dtype, .shape = shape, .weight = Weight::one_plus, .in_place = true},
      {.dtype = dtype, .shape = shape, .rounding = Rounding::before_weight, .strided = true}};
  if (dtype == DType::f32) return specs;
  specs.push_back({.dtype = dtype, .shape = shape, .weight = Weight::one_plus, .f32_weight = true});
  specs.push_back({.dtype = dtype,
                   .shape = shape,
                   .f32_weight = true,
                   .rounding = Rounding::before_weight,
                   .rms_inv = true});
  return specs;
}

}  // namespace

std::vector<NormSpec> norm_verify_specs(Density density) {
  const bool dense = density == Density::dense;
  // Every length of a vector's tail around the widths that exist, then blocks of vectors.
  const std::vector<int64_t> dims =
      dense ? std::vector<int64_t>{1,  2,  7,  15,  16,  17,  31,   32,  33,
                                   63, 64, 65, 255, 257, 511, 1023, 1025}
            : std::vector<int64_t>{1, 15, 16, 17, 33, 65, 1025};
  std::vector<NormSpec> specs;
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t dim : dims) specs.push_back({.dtype = dtype, .shape = {3, dim}});
    for (const int64_t dim : {4099, 20001, 40000, 100003}) {
      specs.push_back({.dtype = dtype, .shape = {2, dim}});
    }
    for (const int64_t rows : {1, 2, 64, 257}) {
      if (dense || rows == 257) specs.push_back({.dtype = dtype, .shape = {rows, 128}});
    }
    for (const int64_t dim : {2816, 3584, 4096, 5120}) {
      if (dense || dim == 4096) specs.push_back({.dtype = dtype, .shape = {2, dim}});
    }
    for (const NormSpec& spec : option_specs(dtype)) specs.push_back(spec);
    for (const int64_t dim : {12289, 33000}) {  // rows begin anywhere, or at packs
      for (const NormSpec& spec : long_specs(dtype, dim)) specs.push_back(spec);
    }
  }
  return specs;
}

std::vector<NormSpec> norm_gpu_verify_specs() {
  std::vector<NormSpec> specs;
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t dim : kSharedDims) {
      specs.push_back({.dtype = dtype, .shape = {3, dim}});
      for (const NormSpec& spec : long_specs(dtype, dim)) specs.push_back(spec);
    }
  }
  return specs;
}

std::vector<NormSpec> norm_bench_specs() {
  std::vector<NormSpec> specs;
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t dim : {4096, 5120}) {
      specs.push_back({.dtype = dtype, .shape = {rows_beyond_cache(dtype, dim), dim}});
    }
    specs.push_back({.dtype = dtype, .shape = {64, 4096}});
  }
  return specs;
}

std::vector<Shape> gpu_bench_shapes(bool all) {
  constexpr int64_t kElements = int64_t{1} << 28;
  std::vector<Shape> shapes;
  const auto add = [&](int64_t dim) { shapes.push_back({kElements / dim, dim}); };
  if (!all) {
    for (const int64_t dim : {4096, 8192, 32768, 65536, 131072, 262144}) add(dim);
    return shapes;
  }
  for (int64_t dim = 256; dim <= 262144; dim *= 2) add(dim);
  for (const int64_t dim : {1536, 2560, 2816, 3584, 5120, 12288, 14336, 100003, 140000}) add(dim);
  for (const Shape& few : {Shape{1, 262144}, Shape{16, 65536}, Shape{1, 2048}, Shape{64, 4096}}) {
    shapes.push_back(few);
  }
  return shapes;
}

std::vector<NormSpec> norm_gpu_bench_specs(bool all) {
  std::vector<NormSpec> specs;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Shape& shape : gpu_bench_shapes(all)) {
      specs.push_back({.dtype = dtype, .shape = shape});
    }
  }
  return specs;
}

Work norm_work(const NormSpec& spec, const Passes& passes) {
  const int64_t count = spec.shape.count().value_or(0);
  const int64_t operand = count * size_of(spec.dtype);
  const DType weight = weight_dtype(spec.dtype, spec.f32_weight);
  const int64_t weight_bytes =
      spec.weight == Weight::none ? 0 : spec.shape.back() * size_of(weight);
  const int64_t rms_inv_bytes = spec.rms_inv ? row_count(spec.shape) * size_of(DType::f32) : 0;
  return {.bytes_read = passes.reads * operand + weight_bytes,
          .bytes_written = passes.writes * operand + rms_inv_bytes,
          .flops = passes.flops * count};
}

Case norm_case(std::string_view op, NormMaker make, const NormSpec& spec, Work work,
               unsigned suites, std::string model) {
  std::string name = fmt::format("{}[{},{}]", op, norite::name(spec.dtype), describe(spec));
  return {.op = std::string(op),
          .name = name,
          .model = std::move(model),
          .dtype = spec.dtype,
          .shape = spec.shape,
          .work = work,
          .suites = suites,
          .roof = Roof::copy,
          .prepare = [make, spec, name](const Device& device, FillKind fill) {
            return make(spec, device, {.seed = name, .fill = fill});
          }};
}

std::string describe_rows(const Shape& shape) {
  if (shape.rank() == 2) return fmt::format("rows={},dim={}", shape[0], shape[1]);
  return fmt::format("shape={}", fmt::join(shape.begin(), shape.end(), "x"));
}

std::string describe_weight(Weight weight, bool f32_weight, DType dtype) {
  if (weight == Weight::none) return ",no_weight";
  std::string text = weight == Weight::one_plus ? ",one_plus" : "";
  if (f32_weight && dtype != DType::f32) text += ",w=f32";
  return text;
}

int64_t row_count(const Shape& shape) { return without_last(shape).count().value_or(0); }

Shape without_last(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<size_t>(shape.rank() - 1)));
}

DType weight_dtype(DType activation, bool f32_weight) {
  return f32_weight ? DType::f32 : activation;
}

ops::WeightMode weight_mode(Weight weight) {
  return weight == Weight::one_plus ? ops::WeightMode::one_plus : ops::WeightMode::plain;
}

int64_t rows_beyond_cache(DType dtype, int64_t dim) {
  const int64_t row_bytes = dim * size_of(dtype);
  return ((int64_t{256} << 20) + row_bytes - 1) / row_bytes;
}

std::vector<Expected> exactly(std::span<const double> values) {
  std::vector<Expected> result;
  for (const double value : values) {
    result.push_back({.value = value, .magnitude = std::abs(value)});
  }
  return result;
}

double rms_inv(std::span<const double> x, double eps) {
  double sum = 0;
  // As f32 holds them: squares beyond its range are infinite, those far below it are zero.
  for (const double value : x) sum += static_cast<float>(value * value);
  return 1 / std::sqrt(sum / static_cast<double>(x.size()) + eps);
}

std::vector<Expected> weight_factors(Weight weight, const Tensor* tensor, int64_t dim) {
  std::vector<Expected> factors(static_cast<size_t>(dim), {.value = 1, .magnitude = 1});
  if (weight == Weight::none) return factors;
  const Values w = tensor->row(0);
  const double offset = weight == Weight::one_plus ? 1 : 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    factors[i] = {.value = offset + w[i], .magnitude = offset + std::abs(w[i])};
  }
  return factors;
}

std::vector<Expected> normalised(std::span<const double> x, double r,
                                 std::span<const Expected> factors, DType dtype) {
  std::vector<Expected> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double size = std::abs(x[i] * r);
    y[i] = {.value = x[i] * r * factors[i].value,
            .magnitude = size * factors[i].magnitude,
            // x·r may be rounded below the normal range before the weight enlarges it.
            .slack = subnormal_step(dtype) * (1 + factors[i].magnitude) + kTiny * size};
  }
  return y;
}

std::vector<Expected> norm_backward_dx(std::span<const double> x, std::span<const Expected> g,
                                       std::span<const Expected> factors, double r) {
  Expected s;
  for (size_t i = 0; i < x.size(); ++i) {
    const double size = std::abs(x[i]);
    s.value += g[i].value * x[i] * factors[i].value;
    s.magnitude += g[i].magnitude * size * factors[i].magnitude;
    s.slack += g[i].slack * size * factors[i].magnitude + kTiny * (size + factors[i].magnitude);
  }
  const double scale = r * r / static_cast<double>(x.size());
  std::vector<Expected> dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double size = std::abs(x[i]);
    const double pull = size * scale;
    dx[i] = {
        .value = r * (g[i].value * factors[i].value - x[i] * s.value * scale),
        .magnitude = r * (g[i].magnitude * factors[i].magnitude + pull * s.magnitude),
        .slack = r * (g[i].slack * factors[i].magnitude + pull * s.slack + kTiny * (1 + size))};
  }
  return dx;
}

void norm_backward_dw(std::span<const double> x, std::span<const Expected> g, double r,
                      std::span<Expected> dw) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double size = std::abs(x[i]);
    dw[i].value += g[i].value * x[i] * r;
    dw[i].magnitude += g[i].magnitude * size * r;
    // Whichever two of the three are multiplied first, the third enlarges what their product lost.
    dw[i].slack += g[i].slack * size * r + kTiny * (1 + g[i].magnitude + size + r);
  }
}

}  // namespace norite::cases
