// SPDX-License-Identifier: MIT
// Norms of any shape and options against float64: plans have many borders, and the case table meets
// a few of them.
#include <gtest/gtest.h>
// RapidCheck's glue wants GoogleTest first.
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "cases/norm.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using cases::NormBackwardSpec;
using cases::NormSpec;
using test::must;

/// As far apart in the first example as in the last one.
int64_t between(int64_t least, int64_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(least, most + 1));
}
bool any() { return *rc::gen::arbitrary<bool>(); }
bool rarely() { return *rc::gen::weightedElement<bool>({{5, false}, {1, true}}); }

/// Small ones, those around the lengths where something changes, and long ones.
int64_t any_dim() {
  switch (between(0, 3)) {
    case 0:
      return between(1, 69);
    case 1:
      return between(70, 5000);
    case 2:
      return *rc::gen::element<int64_t>(256, 512, 640, 1000, 1024, 2048, 2560, 4096, 8192, 12288,
                                        16384) +
             between(-9, 9);
    default:
      return between(5000, 140000);
  }
}

Shape any_shape() {
  constexpr int64_t kMostElements = 300000;
  const int64_t dim = any_dim();
  const int64_t most_rows = std::clamp<int64_t>(kMostElements / dim, 1, 70);
  return {between(1, most_rows), dim};
}

DType any_dtype() { return *rc::gen::element(DType::f32, DType::f16, DType::bf16); }
float any_eps() { return *rc::gen::element(0.0f, 1e-6f, 1e-2f); }
cases::Weight any_weight() {
  return *rc::gen::element(cases::Weight::none, cases::Weight::plain, cases::Weight::one_plus);
}

void expect_right(Result<cases::ProblemPtr> made) {
  const auto problem = must(std::move(made));
  must(problem->run());
  const cases::Outcome outcome = must(problem->check());
  if (!outcome.passed()) RC_FAIL(outcome.worst().detail);
}

void check_forward(const Device& device) {
  NormSpec spec{.dtype = any_dtype(), .shape = any_shape(), .weight = any_weight()};
  spec.f32_weight = spec.dtype != DType::f32 && spec.weight != cases::Weight::none && rarely();
  spec.strided = rarely();
  spec.in_place = rarely();
  spec.rms_inv = rarely();
  spec.eps = any_eps();
  switch (between(0, 2)) {
    case 0:
      return expect_right(cases::make_rms_norm(spec, device, {.seed = "rms_norm"}));
    case 1:
      spec.rms_inv = false;
      return expect_right(cases::make_rms_norm_mul(spec, device, {.seed = "rms_norm_mul"}));
    default:
      return expect_right(
          cases::make_residual_rms_norm(spec, device, {.seed = "residual_rms_norm"}));
  }
}

void check_backward(const Device& device) {
  NormBackwardSpec spec{.dtype = any_dtype(), .shape = any_shape(), .weight = any_weight()};
  const bool weighted = spec.weight != cases::Weight::none;
  spec.f32_weight = spec.dtype != DType::f32 && weighted && rarely();
  spec.given_rms_inv = rarely();
  spec.dresidual = any();
  spec.dw = weighted && !rarely();
  spec.dx = !spec.dw || !rarely();
  spec.strided = rarely();
  spec.eps = any_eps();
  if (!spec.dx) spec.dresidual = false;
  expect_right(cases::make_rms_norm_backward(spec, device, {.seed = "rms_norm_backward"}));
}

class NormShapes : public test::OnDevice<std::string> {};

TEST_P(NormShapes, MatchFloat64Forward) {
  EXPECT_TRUE(rc::check([&] { check_forward(device()); }));
}
TEST_P(NormShapes, MatchFloat64Backward) {
  EXPECT_TRUE(rc::check([&] { check_backward(device()); }));
}

INSTANTIATE_TEST_SUITE_P(Devices, NormShapes, testing::ValuesIn(test::cpu_and_cuda()),
                         test::InstanceName());

}  // namespace
}  // namespace norite
