// SPDX-License-Identifier: MIT
// What the cases of the RMS-norm family share: their parameters and the float64 reference.
#pragma once

#include "cases/case.hpp"

#include <norite/ops/norm_options.hpp>

#include <array>
#include <span>

namespace norite::cases {

enum class Weight : uint8_t { none, plain, one_plus };

constexpr float kDefaultEps = 1e-6f;
/// What an f32 product that falls below the normal range may lose, at most.
constexpr double kTiny = 0x1p-149;
/// Elements between strided rows: odd, so that rows start at every alignment.
constexpr int64_t kRowGap = 3;

/// rms_norm, rms_norm_mul, residual_rms_norm.
struct NormSpec {
  DType dtype = DType::f32;
  Shape shape;  ///< [..., dim]
  Weight weight = Weight::plain;
  bool f32_weight = false;  ///< instead of the activation's dtype
  ops::Rounding rounding = ops::Rounding::once;
  bool strided = false;
  bool in_place = false;
  bool rms_inv = false;
  bool repeat_scale = false;  ///< rms_norm_mul: one row of scale for all
  float eps = kDefaultEps;
};

/// rms_norm_backward.
struct NormBackwardSpec {
  enum class InPlace : uint8_t { none, dy, dresidual };

  DType dtype = DType::f32;
  Shape shape;  ///< [..., dim]
  Weight weight = Weight::plain;
  bool f32_weight = false;
  bool f32_dw = true;  ///< else the weight's dtype
  bool given_rms_inv = false;
  bool dresidual = false;
  bool dx = true;
  bool dw = true;
  bool strided = false;
  InPlace in_place = InPlace::none;
  bool parts = false;  ///< compute_rms_inv, dx and dw called one by one
  float eps = kDefaultEps;
};

using ProblemPtr = std::unique_ptr<Problem>;

Result<ProblemPtr> make_rms_norm(const NormSpec& spec, const Device& device, Data data);
Result<ProblemPtr> make_rms_norm_mul(const NormSpec& spec, const Device& device, Data data);
Result<ProblemPtr> make_residual_rms_norm(const NormSpec& spec, const Device& device, Data data);
Result<ProblemPtr> make_rms_norm_backward(const NormBackwardSpec& spec, const Device& device,
                                          Data data);

/// Turns a spec into a table row.
using NormMaker = Result<ProblemPtr> (*)(const NormSpec&, const Device&, Data);
Case norm_case(std::string_view op, NormMaker make, const NormSpec& spec, Work work,
               unsigned suites, std::string model = {});
/// Sizes and options of the forward operations; `sizes` selects how densely sizes are covered.
enum class Density : uint8_t { sparse, dense };
std::vector<NormSpec> norm_verify_specs(Density density);
/// kVerifyGpu: rows that groups of a GPU share in every form that this has, some of whole packs of
/// 16 bytes and some not.
inline constexpr std::array<int64_t, 6> kSharedDims = {24001,  98312,  131072,
                                                       152064, 262143, 262144};
std::vector<NormSpec> norm_gpu_verify_specs();
/// Rows of a model's width: buffers beyond every cache, and 64 rows within them.
std::vector<NormSpec> norm_bench_specs();
/// Shapes of kBenchGpu: 2^28 elements in rows of usual lengths; with `all`, of every length that
/// may be a cliff, and rows that are few.
std::vector<Shape> gpu_bench_shapes(bool all);
/// f32 and bf16 in these shapes.
std::vector<NormSpec> norm_gpu_bench_specs(bool all);

/// How often a forward operation passes over a [rows, dim] operand, and flops for each element.
struct Passes {
  int64_t reads, writes, flops;
};
Work norm_work(const NormSpec& spec, const Passes& passes);
/// "rows=3,dim=64", or "shape=2x3x64" with more leading axes.
std::string describe_rows(const Shape& shape);
/// ",one_plus,w=f32": nothing for a plain weight of the activation's dtype.
std::string describe_weight(Weight weight, bool f32_weight, DType dtype);

/// The product of all extents but the last.
int64_t row_count(const Shape& shape);
Shape without_last(const Shape& shape);
DType weight_dtype(DType activation, bool f32_weight);
ops::WeightMode weight_mode(Weight weight);
/// Rows that make a buffer of at least 256 MiB.
int64_t rows_beyond_cache(DType dtype, int64_t dim);

/// Values that are their own magnitude.
std::vector<Expected> exactly(std::span<const double> values);
/// 1 / sqrt(mean(x²) + eps)
double rms_inv(std::span<const double> x, double eps);
/// What multiplies x·r: w, 1 + w, or 1, with its magnitude.
std::vector<Expected> weight_factors(Weight weight, const Tensor* tensor, int64_t dim);
/// x·r·w, element by element.
std::vector<Expected> normalised(std::span<const double> x, double r,
                                 std::span<const Expected> factors, DType dtype);

/// dx = r·(g·w − x·s·r²/dim), s = Σ g·x·w, for a gradient g that may carry errors of its own.
std::vector<Expected> norm_backward_dx(std::span<const double> x, std::span<const Expected> g,
                                       std::span<const Expected> factors, double r);
/// dw += g·x·r
void norm_backward_dw(std::span<const double> x, std::span<const Expected> g, double r,
                      std::span<Expected> dw);

}  // namespace norite::cases
