// SPDX-License-Identifier: MIT
// What holds for rotations whatever the numbers are.
#include <gtest/gtest.h>
// RapidCheck's glue wants GoogleTest first.
#include <rapidcheck/gtest.h>

#include <cmath>

#include "host_values.hpp"

namespace norite {
namespace {

using test::must;

const Device& device() {
  static const Device cpu = must(Device::open("cpu"));
  return cpu;
}

struct Heads {
  Shape shape;
  std::vector<float> x;
  ops::RopeAngles angles;
  ops::Pairing pairing;
  int64_t half_rope_dim;
};

Heads any_heads() {
  const int64_t tokens = *rc::gen::inRange<int64_t>(1, 5);
  const int64_t heads = *rc::gen::inRange<int64_t>(1, 4);
  const int64_t half = *rc::gen::inRange<int64_t>(1, 70);
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  return {.shape = {tokens, heads, 2 * half},
          .x = test::pattern(tokens * heads * 2 * half, seed),
          .angles = {.first_position = *rc::gen::inRange<int64_t>(0, 200000),
                     .theta = *rc::gen::element(100.0f, 10000.0f, 1e6f)},
          .pairing = *rc::gen::element(ops::Pairing::half_dim, ops::Pairing::half_rope,
                                       ops::Pairing::interleaved),
          .half_rope_dim = *rc::gen::inRange<int64_t>(0, half + 1)};
}

Buffer rotated(const Heads& in) {
  const Buffer x = test::upload(device(), DType::f32, in.shape, in.x);
  test::run(device(), [&](Encoder& e) {
    return ops::rope(e, {.x = x,
                         .y = x,
                         .angles = in.angles,
                         .pairing = in.pairing,
                         .half_rope_dim = in.half_rope_dim});
  });
  return x;
}

double largest(const std::vector<float>& values) {
  double result = 0;
  for (const float value : values) result = std::max(result, std::abs(double{value}));
  return result;
}

RC_GTEST_PROP(Rope, KeepsTheNormOfEachHead, ()) {
  const Heads heads = any_heads();
  const auto y = test::download(rotated(heads));
  const auto dim = static_cast<size_t>(heads.shape.back());
  for (size_t first = 0; first < y.size(); first += dim) {
    double before = 0;
    double after = 0;
    for (size_t i = first; i < first + dim; ++i) {
      before += double{heads.x[i]} * heads.x[i];
      after += double{y[i]} * y[i];
    }
    RC_ASSERT(std::abs(after - before) <= 4e-6 * before);
  }
}

RC_GTEST_PROP(Rope, BackwardUndoesForward, ()) {
  const Heads heads = any_heads();
  const Buffer y = rotated(heads);
  test::run(device(), [&](Encoder& e) {
    return ops::rope_backward(e, {.dy = y,
                                  .dx = y,
                                  .angles = heads.angles,
                                  .pairing = heads.pairing,
                                  .half_rope_dim = heads.half_rope_dim});
  });
  const auto back = test::download(y);
  const double scale = largest(heads.x);
  for (size_t i = 0; i < back.size(); ++i) {
    RC_ASSERT(std::abs(double{back[i]} - heads.x[i]) <= 2e-6 * scale);
  }
}

// Scores depend on relative positions alone: q·k is the same when both move along.
RC_GTEST_PROP(Rope, DotProductsDependOnTheDistanceAlone, ()) {
  Heads q = any_heads();
  Heads k = q;
  k.x = test::pattern(static_cast<int64_t>(q.x.size()), *rc::gen::arbitrary<uint32_t>());
  k.angles.first_position = q.angles.first_position + *rc::gen::inRange<int64_t>(0, 100);
  const int64_t shift = *rc::gen::inRange<int64_t>(0, 1000);
  const auto dot = [&](int64_t by) {
    Heads moved_q = q;
    Heads moved_k = k;
    moved_q.angles.first_position += by;
    moved_k.angles.first_position += by;
    const auto a = test::download(rotated(moved_q));
    const auto b = test::download(rotated(moved_k));
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
    return sum;
  };
  RC_ASSERT(std::abs(dot(shift) - dot(0)) <= 2e-6 * static_cast<double>(q.x.size()));
}

RC_GTEST_PROP(HeadNormRope, EqualsNormThenRope, ()) {
  const Heads heads = any_heads();
  const int64_t dim = heads.shape.back();
  const Buffer w = test::upload(device(), DType::f32, {dim}, test::pattern(dim, 9));
  const Buffer fused = test::upload(device(), DType::f32, heads.shape, heads.x);
  const Buffer steps = test::upload(device(), DType::f32, heads.shape, heads.x);
  test::run(device(), [&](Encoder& e) -> Result<void> {
    NORITE_TRY(ops::fused_head_norm_rope(e, {.x = fused,
                                             .weight = w,
                                             .y = fused,
                                             .angles = heads.angles,
                                             .pairing = heads.pairing,
                                             .half_rope_dim = heads.half_rope_dim}));
    NORITE_TRY(ops::rms_norm(e, {.x = steps, .weight = w, .y = steps}));
    return ops::rope(e, {.x = steps,
                         .y = steps,
                         .angles = heads.angles,
                         .pairing = heads.pairing,
                         .half_rope_dim = heads.half_rope_dim});
  });
  const auto a = test::download(fused);
  const auto b = test::download(steps);
  const double scale = largest(b);
  for (size_t i = 0; i < a.size(); ++i) RC_ASSERT(std::abs(a[i] - b[i]) <= 1e-6 * scale);
}

}  // namespace
}  // namespace norite
