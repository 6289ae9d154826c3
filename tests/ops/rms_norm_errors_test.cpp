// SPDX-License-Identifier: MIT
// Bad input to rms_norm, rms_norm_mul and residual_rms_norm.
#include <cmath>

#include "norite/ops/residual_rms_norm.hpp"
#include "norite/ops/rms_norm.hpp"
#include "norite/ops/rms_norm_mul.hpp"
#include "ops/refusals.hpp"

namespace norite::test {
namespace {

constexpr int64_t kDim = 8;
const Shape kShape = {3, 4, kDim};
const Shape kRows = {3, 4};

// What is wrong with any of the forward norms.
template <class Op>
std::vector<Spoiled<Op>> norm_others(Tensors& tensors) {
  const View plain = tensors.make({2, 2, 2, 2, kDim});
  const View other = tensors.make({2, 2, 2, 2, kDim});
  const View scattered = tensors.scattered(kDim);
  const auto every_activation = [=](Op& op, const View& x) {
    op.x = x;
    op.y = plain;
    op.rms_inv = {};
    if constexpr (requires { op.scale; }) op.scale = plain;
    if constexpr (requires { op.residual; }) op.residual = op.sum = other;
  };
  std::vector<Spoiled<Op>> rows = {
      with("eps", &Op::eps, NAN),
      with("eps", &Op::eps, -1e-6F),
      with("eps", &Op::eps, INFINITY),
      with("eps", &Op::eps, -INFINITY),
      {"four strided leading axes", "x", [=](Op& op) { every_activation(op, scattered); }},
      {"f16 weight of a bf16 x", "weight",
       [&tensors](Op& op) {
         const View x = tensors.make(kShape, DType::bf16);
         op.x = x;
         op.y = tensors.make(kShape, DType::bf16);
         if constexpr (requires { op.scale; }) op.scale = x;
         if constexpr (requires { op.residual; }) {
           op.residual = x;
           op.sum = tensors.make(kShape, DType::bf16);
         }
         op.weight = tensors.make({kDim}, DType::f16);
       }},
      {"weight of one element", "weight", [&tensors](Op& op) { op.weight = tensors.make({1}); }},
      {"bf16 rms_inv", "rms_inv",
       [&tensors](Op& op) { op.rms_inv = tensors.make(kRows, DType::bf16); }},
      {"rms_inv of all rows in one axis", "rms_inv",
       [&tensors](Op& op) { op.rms_inv = tensors.make({12}); }},
      {"a weight mode that there is not, and no weight", "weight_mode",
       [](Op& op) {
         op.weight = {};
         op.weight_mode = static_cast<ops::WeightMode>(2);
       }},
  };
  append(rows, with_unknown("weight_mode", &Op::weight_mode, 2));
  append(rows, with_unknown("rounding", &Op::rounding, 2));
  return rows;
}

struct RmsNormSpec {
  using Op = ops::RmsNorm;
  static constexpr std::string_view kName = "rms_norm";
  static Result<void> run(Encoder& encoder, const Op& op) { return ops::rms_norm(encoder, op); }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .weight = tensors.make({kDim}),
            .y = tensors.make(kShape),
            .rms_inv = tensors.make(kRows)};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"), optional<&Op::weight>("weight"), written(required<&Op::y>("y")),
            per_row(written(optional<&Op::rms_inv>("rms_inv")))};
  }
  static std::vector<Pair> in_place() { return {{"y", "x"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) { return norm_others<Op>(tensors); }
};

struct RmsNormMulSpec {
  using Op = ops::RmsNormMul;
  static constexpr std::string_view kName = "rms_norm_mul";
  static Result<void> run(Encoder& encoder, const Op& op) { return ops::rms_norm_mul(encoder, op); }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .weight = tensors.make({kDim}),
            .scale = tensors.make(kShape),
            .y = tensors.make(kShape),
            .rms_inv = tensors.make(kRows)};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"), optional<&Op::weight>("weight"), required<&Op::scale>("scale"),
            written(required<&Op::y>("y")), per_row(written(optional<&Op::rms_inv>("rms_inv")))};
  }
  static std::vector<Pair> in_place() { return {{"y", "x"}, {"y", "scale"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    auto rows = norm_others<Op>(tensors);
    rows.push_back({"in place of a repeated row", "y",
                    [&tensors](Op& op) { op.scale = op.y = tensors.strided(kShape, {0, 0, 1}); }});
    return rows;
  }
};

struct ResidualRmsNormSpec {
  using Op = ops::ResidualRmsNorm;
  static constexpr std::string_view kName = "residual_rms_norm";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::residual_rms_norm(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .residual = tensors.make(kShape),
            .weight = tensors.make({kDim}),
            .sum = tensors.make(kShape),
            .y = tensors.make(kShape),
            .rms_inv = tensors.make(kRows)};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"),           required<&Op::residual>("residual"),
            optional<&Op::weight>("weight"), written(required<&Op::sum>("sum")),
            written(required<&Op::y>("y")),  per_row(written(optional<&Op::rms_inv>("rms_inv")))};
  }
  static std::vector<Pair> in_place() { return {{"sum", "residual"}, {"sum", "x"}, {"y", "x"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    auto rows = norm_others<Op>(tensors);
    rows.push_back({"both outputs in place of x", "y", [](Op& op) { op.sum = op.y = op.x; }});
    return rows;
  }
};

using Norms = ::testing::Types<RmsNormSpec, RmsNormMulSpec, ResidualRmsNormSpec>;
INSTANTIATE_TYPED_TEST_SUITE_P(norms, Refusals, Norms);

TEST(RmsNormOfText, on_a_closed_device_is_refused_by_its_name) {
  const Device device = must(Device::open("null", {.builtins = BuiltinForm::text}));
  const View x = must(device.empty(DType::f32, kShape));
  Encoder encoder = device.encoder();
  device.close();
  expect_error(ops::rms_norm(encoder, {.x = x, .y = x}), Code::failed_precondition,
               {"rms_norm: ", "closed"});
}

}  // namespace
}  // namespace norite::test
