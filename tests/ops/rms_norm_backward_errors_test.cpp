// SPDX-License-Identifier: MIT
// Bad input to rms_norm_backward and to its three parts.
#include <cmath>

#include "norite/ops/rms_norm_backward.hpp"
#include "ops/refusals.hpp"

namespace norite::test {
namespace {

constexpr int64_t kDim = 8;
const Shape kShape = {3, 4, kDim};
const Shape kRows = {3, 4};

struct RmsNormBackwardSpec {
  using Op = ops::RmsNormBackward;
  static constexpr std::string_view kName = "rms_norm_backward";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::rms_norm_backward(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .weight = tensors.make({kDim}),
            .dy = tensors.make(kShape),
            .rms_inv = tensors.make(kRows),
            .dresidual = tensors.make(kShape),
            .dx = tensors.make(kShape),
            .dw = tensors.make({kDim})};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"),
            optional<&Op::weight>("weight"),
            required<&Op::dy>("dy"),
            per_row(optional<&Op::rms_inv>("rms_inv")),
            optional<&Op::dresidual>("dresidual"),
            written(optional<&Op::dx>("dx")),
            written(optional<&Op::dw>("dw"))};
  }
  static std::vector<Pair> in_place() { return {{"dx", "dy"}, {"dx", "dresidual"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    const View plain = tensors.make({2, 2, 2, 2, kDim});
    const View scattered = tensors.scattered(kDim);
    std::vector<Spoiled<Op>> rows = {
        with("eps", &Op::eps, NAN),
        with("eps", &Op::eps, -1.0F),
        with("eps", &Op::eps, INFINITY),
        {"neither dx nor dw", "dx", [](Op& op) { op.dx = op.dw = op.dresidual = {}; }},
        {"dw without a weight", "dw", [](Op& op) { op.weight = {}; }},
        {"dresidual without dx", "dresidual", [](Op& op) { op.dx = {}; }},
        {"four strided leading axes", "x",
         [=](Op& op) {
           op.x = scattered;
           op.dy = op.dx = plain;
           op.rms_inv = op.dresidual = {};
         }},
        {"dw neither f32 nor the weight's dtype", "dw",
         [&tensors](Op& op) { op.dw = tensors.make({kDim}, DType::bf16); }},
        {"x and dy in f16, f32 weight, f16 dw", "dw",
         [&tensors](Op& op) {
           op.x = tensors.make(kShape, DType::f16);
           op.dy = op.dx = tensors.make(kShape, DType::f16);
           op.dresidual = {};
           op.dw = tensors.make({kDim}, DType::f16);
         }},
    };
    append(rows, with_unknown("weight_mode", &Op::weight_mode, 2));
    return rows;
  }
};

struct ComputeRmsInvSpec {
  using Op = ops::ComputeRmsInv;
  static constexpr std::string_view kName = "rms_norm_compute_rms_inv";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::rms_norm_compute_rms_inv(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape), .rms_inv = tensors.make(kRows)};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"), per_row(written(required<&Op::rms_inv>("rms_inv")))};
  }
  static std::vector<Pair> in_place() { return {}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    const View scattered = tensors.scattered(kDim);
    const View rows = tensors.make({2, 2, 2, 2});
    return {
        with("eps", &Op::eps, NAN),
        with("eps", &Op::eps, -1.0F),
        {"four strided leading axes", "x",
         [=](Op& op) {
           op.x = scattered;
           op.rms_inv = rows;
         }},
    };
  }
};

struct RmsNormBackwardDxSpec {
  using Op = ops::RmsNormBackwardDx;
  static constexpr std::string_view kName = "rms_norm_backward_dx";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::rms_norm_backward_dx(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .weight = tensors.make({kDim}),
            .dy = tensors.make(kShape),
            .rms_inv = tensors.make(kRows),
            .dx = tensors.make(kShape)};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"), optional<&Op::weight>("weight"), required<&Op::dy>("dy"),
            per_row(required<&Op::rms_inv>("rms_inv")), written(required<&Op::dx>("dx"))};
  }
  static std::vector<Pair> in_place() { return {{"dx", "dy"}}; }
  static std::vector<Spoiled<Op>> others(Tensors&) {
    return with_unknown("weight_mode", &Op::weight_mode, 2);
  }
};

struct RmsNormBackwardDwSpec {
  using Op = ops::RmsNormBackwardDw;
  static constexpr std::string_view kName = "rms_norm_backward_dw";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::rms_norm_backward_dw(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .dy = tensors.make(kShape),
            .rms_inv = tensors.make(kRows),
            .dw = tensors.make({kDim})};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::x>("x"), required<&Op::dy>("dy"),
            per_row(required<&Op::rms_inv>("rms_inv")), written(required<&Op::dw>("dw"))};
  }
  static std::vector<Pair> in_place() { return {}; }
  static std::vector<Spoiled<Op>> others(Tensors&) { return {}; }
};

using Backwards = ::testing::Types<RmsNormBackwardSpec, ComputeRmsInvSpec, RmsNormBackwardDxSpec,
                                   RmsNormBackwardDwSpec>;
INSTANTIATE_TYPED_TEST_SUITE_P(norms, Refusals, Backwards);

TEST(RmsNormBackwardMemory, partial_sums_beyond_the_memory_are_out_of_memory) {
  const Device device = cpu_device();
  Tensors tensors(device);
  const View endless = tensors.strided({int64_t{1} << 50, kDim}, {0, 1});
  Encoder encoder = device.encoder();
  expect_error(ops::rms_norm_backward(encoder, {.x = endless,
                                                .weight = tensors.make({kDim}),
                                                .dy = endless,
                                                .dw = tensors.make({kDim})}),
               Code::out_of_memory, {"rms_norm_backward: ", "dw"});
  EXPECT_EQ(encoder.counters().dispatches, 0);
}

}  // namespace
}  // namespace norite::test
