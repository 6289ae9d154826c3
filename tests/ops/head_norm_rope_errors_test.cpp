// SPDX-License-Identifier: MIT
// Bad input to fused_head_norm_rope, its backward, rope and rope_backward.
#include <cmath>

#include "norite/ops/fused_head_norm_rope.hpp"
#include "norite/ops/fused_head_norm_rope_backward.hpp"
#include "norite/ops/rope.hpp"
#include "ops/refusals.hpp"

namespace norite::test {
namespace {

constexpr int64_t kTokens = 3, kHeads = 2, kHeadDim = 8, kPairs = kHeadDim / 2;
const Shape kShape = {kTokens, kHeads, kHeadDim};

enum class Angles : uint8_t { computed, cached };

template <Angles kAngles>
ops::RopeAngles good_angles(Tensors& tensors) {
  if constexpr (kAngles == Angles::cached) {
    return {.cos = tensors.make({kTokens, kPairs}), .sin = tensors.make({kTokens, kPairs})};
  }
  return {.positions = tensors.make({kTokens}, DType::i32), .freq_factors = tensors.make({kPairs})};
}

template <class Op, View ops::RopeAngles::* kMember>
View& angle(Op& op) {
  return op.angles.*kMember;
}

template <class Op, Angles kAngles>
std::vector<Field<Op>> with_angles(std::vector<Field<Op>> fields) {
  using From = ops::RopeAngles;
  if constexpr (kAngles == Angles::cached) {
    fields.push_back({"cos", angle<Op, &From::cos>, true});
    fields.push_back({"sin", angle<Op, &From::sin>, true});
  } else {
    fields.push_back(per_row(Field<Op>{"positions", angle<Op, &From::positions>}));
    fields.push_back({"freq_factors", angle<Op, &From::freq_factors>});
  }
  return fields;
}

template <class Op, class Value>
Spoiled<Op> with_angle(std::string argument, Value ops::RopeAngles::* member, Value value) {
  return {"angle", std::move(argument), [=](Op& op) {
            op.angles.positions = {};
            op.angles.*member = value;
          }};
}

// What is wrong with a shape, or with how much of a head rotates; `x` is the input's name.
template <class Op>
std::vector<Spoiled<Op>> head_others(const char* x, View Op::* input, Tensors& tensors) {
  std::vector<Spoiled<Op>> rows;
  for (const Shape& shape :
       {Shape{kHeadDim}, Shape{kTokens, kHeadDim}, Shape{1, kTokens, kHeads, kHeadDim},
        Shape{kTokens, kHeads, 7}, Shape{kTokens, kHeads, 1}, Shape{1, 1, 1026}}) {
    const View view = tensors.make(shape);
    rows.push_back({"shape", x, [=](Op& op) { op.*input = view; }});
  }
  for (const int64_t pairs : {kPairs + 1, kHeadDim, int64_t{-2}, INT64_MAX, INT64_MIN}) {
    rows.push_back(with("half_rope_dim", &Op::half_rope_dim, pairs));
  }
  return rows;
}

// Numbers that angles cannot be computed from, whether they are or not.
template <class Op>
std::vector<Spoiled<Op>> wrong_numbers() {
  using From = ops::RopeAngles;
  return {
      with_angle<Op>("theta", &From::theta, 0.0F),
      with_angle<Op>("theta", &From::theta, -1.0F),
      with_angle<Op>("theta", &From::theta, NAN),
      with_angle<Op>("theta", &From::theta, INFINITY),
      with_angle<Op>("frequency_dim", &From::frequency_dim, int64_t{-1}),
      with_angle<Op>("first_position", &From::first_position, int64_t{-1}),
      with_angle<Op>("first_position", &From::first_position, INT64_MIN),
      with_angle<Op>("first_position", &From::first_position, INT64_MAX),
      {"beside what replaces it", "first_position", [](Op& op) { op.angles.first_position = -7; }},
  };
}

template <class Op>
std::vector<Spoiled<Op>> computed_others(Tensors& tensors) {
  std::vector<Spoiled<Op>> rows = {
      {"the last token's position overflows", "first_position",
       [](Op& op) {
         op.angles.positions = {};
         op.angles.first_position = int64_t{INT32_MAX} - kTokens + 2;
       }},
      {"factors for more pairs than rotate", "freq_factors",
       [](Op& op) { op.half_rope_dim = kPairs - 1; }},
  };
  for (const DType dtype : {DType::i16, DType::i8, DType::f32}) {
    const View positions = tensors.make({kTokens}, dtype);
    rows.push_back({"dtype", "positions", [=](Op& op) { op.angles.positions = positions; }});
  }
  return rows;
}

template <class Op>
std::vector<Spoiled<Op>> cached_others(Tensors& tensors) {
  const View positions = tensors.make({kTokens}, DType::i32);
  const View factors = tensors.make({kPairs});
  const View table = tensors.make({kTokens, kPairs - 1});
  return {
      {"with cos and sin", "positions", [=](Op& op) { op.angles.positions = positions; }},
      {"with cos and sin", "freq_factors", [=](Op& op) { op.angles.freq_factors = factors; }},
      {"for more pairs than rotate", "cos", [](Op& op) { op.half_rope_dim = kPairs - 1; }},
      {"for more pairs than cos", "sin",
       [=](Op& op) {
         op.half_rope_dim = kPairs - 1;
         op.angles.cos = table;
       }},
  };
}

template <class Op, Angles kAngles>
std::vector<Spoiled<Op>> rope_others(const char* x, View Op::* input, Tensors& tensors) {
  auto rows = head_others<Op>(x, input, tensors);
  append(rows,
         kAngles == Angles::cached ? cached_others<Op>(tensors) : computed_others<Op>(tensors));
  append(rows, wrong_numbers<Op>());
  append(rows, with_unknown("pairing", &Op::pairing, 3));
  return rows;
}

template <class Op>
void add_norm_options(std::vector<Spoiled<Op>>& rows) {
  for (const float eps : {NAN, -1.0F, INFINITY, -INFINITY}) {
    rows.push_back(with("eps", &Op::eps, eps));
  }
  append(rows, with_unknown("weight_mode", &Op::weight_mode, 2));
}

template <Angles kAngles>
struct FusedSpec {
  using Op = ops::FusedHeadNormRope;
  static constexpr std::string_view kName = "fused_head_norm_rope";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::fused_head_norm_rope(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .weight = tensors.make({kHeadDim}),
            .y = tensors.make(kShape),
            .copy = tensors.make(kShape),
            .angles = good_angles<kAngles>(tensors)};
  }
  static std::vector<Field<Op>> fields() {
    return with_angles<Op, kAngles>({required<&Op::x>("x"), optional<&Op::weight>("weight"),
                                     written(required<&Op::y>("y")),
                                     any_float(written(optional<&Op::copy>("copy")))});
  }
  static std::vector<Pair> in_place() { return {{"y", "x"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    auto rows = rope_others<Op, kAngles>("x", &Op::x, tensors);
    add_norm_options(rows);
    return rows;
  }
};

template <Angles kAngles>
struct FusedBackwardSpec {
  using Op = ops::FusedHeadNormRopeBackward;
  static constexpr std::string_view kName = "fused_head_norm_rope_backward";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::fused_head_norm_rope_backward(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .weight = tensors.make({kHeadDim}),
            .dy = tensors.make(kShape),
            .dx = tensors.make(kShape),
            .dw = tensors.make({kHeadDim}),
            .angles = good_angles<kAngles>(tensors)};
  }
  static std::vector<Field<Op>> fields() {
    return with_angles<Op, kAngles>({required<&Op::x>("x"), optional<&Op::weight>("weight"),
                                     required<&Op::dy>("dy"), written(optional<&Op::dx>("dx")),
                                     written(optional<&Op::dw>("dw"))});
  }
  static std::vector<Pair> in_place() { return {{"dx", "dy"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    auto rows = rope_others<Op, kAngles>("x", &Op::x, tensors);
    add_norm_options(rows);
    rows.push_back({"neither dx nor dw", "dx", [](Op& op) { op.dx = op.dw = {}; }});
    rows.push_back({"dw without a weight", "dw", [](Op& op) { op.weight = {}; }});
    return rows;
  }
};

template <Angles kAngles>
struct RopeSpec {
  using Op = ops::Rope;
  static constexpr std::string_view kName = "rope";
  static Result<void> run(Encoder& encoder, const Op& op) { return ops::rope(encoder, op); }
  static Op good(Tensors& tensors) {
    return {.x = tensors.make(kShape),
            .y = tensors.make(kShape),
            .copy = tensors.make(kShape),
            .angles = good_angles<kAngles>(tensors)};
  }
  static std::vector<Field<Op>> fields() {
    return with_angles<Op, kAngles>({required<&Op::x>("x"), written(required<&Op::y>("y")),
                                     any_float(written(optional<&Op::copy>("copy")))});
  }
  static std::vector<Pair> in_place() { return {{"y", "x"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    return rope_others<Op, kAngles>("x", &Op::x, tensors);
  }
};

template <Angles kAngles>
struct RopeBackwardSpec {
  using Op = ops::RopeBackward;
  static constexpr std::string_view kName = "rope_backward";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::rope_backward(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.dy = tensors.make(kShape),
            .dx = tensors.make(kShape),
            .angles = good_angles<kAngles>(tensors)};
  }
  static std::vector<Field<Op>> fields() {
    return with_angles<Op, kAngles>({required<&Op::dy>("dy"), written(required<&Op::dx>("dx"))});
  }
  static std::vector<Pair> in_place() { return {{"dx", "dy"}}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    return rope_others<Op, kAngles>("dy", &Op::dy, tensors);
  }
};

using Computed = ::testing::Types<FusedSpec<Angles::computed>, FusedBackwardSpec<Angles::computed>,
                                  RopeSpec<Angles::computed>, RopeBackwardSpec<Angles::computed>>;
using Cached = ::testing::Types<FusedSpec<Angles::cached>, FusedBackwardSpec<Angles::cached>,
                                RopeSpec<Angles::cached>, RopeBackwardSpec<Angles::cached>>;
INSTANTIATE_TYPED_TEST_SUITE_P(computed_angles, Refusals, Computed);
INSTANTIATE_TYPED_TEST_SUITE_P(cached_angles, Refusals, Cached);

TEST(RopeNumbers, that_nothing_reads_may_be_anything_valid) {
  const Device device = cpu_device();
  Tensors tensors(device);
  Encoder encoder = device.encoder();
  ops::Rope op = RopeSpec<Angles::cached>::good(tensors);
  op.angles.first_position = 5;
  op.angles.theta = 1e6F;
  op.angles.frequency_dim = 2;
  must(ops::rope(encoder, op));
  op = RopeSpec<Angles::computed>::good(tensors);
  op.angles.first_position = 5;
  must(ops::rope(encoder, op));
}

}  // namespace
}  // namespace norite::test
