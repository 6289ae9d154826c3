// SPDX-License-Identifier: MIT
// Every backward pass against central differences of its forward formula, in float64 and written
// here anew: neither the library nor the case table has a part in what is expected.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;
using Doubles = std::vector<double>;
/// Σ dy · f(parameters): the scalar whose gradient the backward pass is.
using Loss = std::function<double(const Doubles&)>;

Doubles widen(const std::vector<float>& values) { return {values.begin(), values.end()}; }

double norm_scale(const Doubles& x, size_t first, size_t dim, double eps) {
  double sum = 0;
  for (size_t i = 0; i < dim; ++i) sum += x[first + i] * x[first + i];
  return 1 / std::sqrt(sum / static_cast<double>(dim) + eps);
}

/// Compares a gradient with central differences in each parameter; h² · f''' ~ 1e-10.
void expect_gradient(const std::vector<float>& gradient, Doubles at, const Loss& loss) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(gradient.size(), at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    const double centre = at[i];
    at[i] = centre + kStep;
    const double above = loss(at);
    at[i] = centre - kStep;
    const double below = loss(at);
    at[i] = centre;
    const double expected = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient[i], expected, 2e-6 * (1 + std::abs(expected))) << "element " << i;
  }
}

class NormGradient : public test::OnDevice<std::tuple<std::string, ops::WeightMode>> {};

TEST_P(NormGradient, MatchesDifferences) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kDim = 19;
  constexpr float kEps = 1e-3f;
  const ops::WeightMode mode = std::get<1>(GetParam());
  const double offset = mode == ops::WeightMode::one_plus ? 1 : 0;
  const auto x = test::pattern(kRows * kDim, 1);
  const auto w = test::pattern(kDim, 2);
  const auto dy = test::pattern(kRows * kDim, 3);
  const auto dresidual = test::pattern(kRows * kDim, 4);
  const Buffer dx = must(device().empty(DType::f32, {kRows, kDim}));
  const Buffer dw = must(device().empty(DType::f32, {kDim}));
  test::run(device(), [&](Encoder& e) {
    return ops::rms_norm_backward(
        e, {.x = test::upload(device(), DType::f32, {kRows, kDim}, x),
            .weight = test::upload(device(), DType::f32, {kDim}, w),
            .dy = test::upload(device(), DType::f32, {kRows, kDim}, dy),
            .dresidual = test::upload(device(), DType::f32, {kRows, kDim}, dresidual),
            .dx = dx,
            .dw = dw,
            .eps = kEps,
            .weight_mode = mode});
  });
  const auto loss = [&](const Doubles& at_x, const Doubles& at_w) {
    double sum = 0;
    for (size_t i = 0; i < at_x.size(); ++i) {
      const double r = norm_scale(at_x, i / kDim * kDim, kDim, kEps);
      sum += dy[i] * at_x[i] * r * (offset + at_w[i % kDim]) + dresidual[i] * at_x[i];
    }
    return sum;
  };
  expect_gradient(test::download(dx), widen(x),
                  [&](const Doubles& p) { return loss(p, widen(w)); });
  expect_gradient(test::download(dw), widen(w),
                  [&](const Doubles& p) { return loss(widen(x), p); });
}

INSTANTIATE_TEST_SUITE_P(Modes, NormGradient,
                         testing::Combine(testing::ValuesIn(test::cpu_and_cuda()),
                                          testing::Values(ops::WeightMode::plain,
                                                          ops::WeightMode::one_plus)),
                         [](const auto& one) {
                           const bool plain = std::get<1>(one.param) == ops::WeightMode::plain;
                           return std::get<0>(one.param) + (plain ? "_plain" : "_one_plus");
                         });

struct Rotation {
  const char* name;
  ops::Pairing pairing;
  int64_t half_rope_dim;
};

class HeadGradient : public test::OnDevice<std::tuple<std::string, Rotation>> {
 protected:
  static const Rotation& rotation() { return std::get<1>(GetParam()); }
  static constexpr int64_t kTokens = 3;
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kDim = 10;
  static constexpr int64_t kFirst = 7;
  static constexpr float kTheta = 100.0f;
  static constexpr float kEps = 1e-3f;
  static constexpr int64_t kCount = kTokens * kHeads * kDim;

  /// Rotates one head in float64.
  static void rotate(Doubles& v, size_t first, int64_t token) {
    const auto& [name, pairing, half] = rotation();
    for (int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(double{kTheta}, -2.0 * static_cast<double>(i) / kDim);
      const double angle = static_cast<double>(kFirst + token) * frequency;
      const int64_t a = pairing == ops::Pairing::interleaved ? 2 * i : i;
      const int64_t b = pairing == ops::Pairing::interleaved ? 2 * i + 1
                        : pairing == ops::Pairing::half_dim  ? i + kDim / 2
                                                             : i + half;
      double& va = v[first + static_cast<size_t>(a)];
      double& vb = v[first + static_cast<size_t>(b)];
      const double rotated = va * std::cos(angle) - vb * std::sin(angle);
      vb = vb * std::cos(angle) + va * std::sin(angle);
      va = rotated;
    }
  }

  double loss(Doubles v, const Doubles* w) const {
    for (size_t head = 0; head < kTokens * kHeads; ++head) {
      const size_t first = head * kDim;
      const double r = w != nullptr ? norm_scale(v, first, kDim, kEps) : 1;
      for (size_t i = 0; i < kDim; ++i) v[first + i] *= r * (w != nullptr ? (*w)[i] : 1);
      rotate(v, first, static_cast<int64_t>(head) / kHeads);
    }
    double sum = 0;
    for (size_t i = 0; i < v.size(); ++i) sum += dy_[i] * v[i];
    return sum;
  }

  const Shape shape_ = {kTokens, kHeads, kDim};
  const std::vector<float> x_ = test::pattern(kCount, 1);
  const std::vector<float> w_ = test::pattern(kDim, 2);
  const std::vector<float> dy_ = test::pattern(kCount, 3);
  const ops::RopeAngles angles_ = {.first_position = kFirst, .theta = kTheta};
};

TEST_P(HeadGradient, OfNormAndRopeMatchesDifferences) {
  const Buffer dx = must(device().empty(DType::f32, shape_));
  const Buffer dw = must(device().empty(DType::f32, {kDim}));
  test::run(device(), [&](Encoder& e) {
    return ops::fused_head_norm_rope_backward(
        e, {.x = test::upload(device(), DType::f32, shape_, x_),
            .weight = test::upload(device(), DType::f32, {kDim}, w_),
            .dy = test::upload(device(), DType::f32, shape_, dy_),
            .dx = dx,
            .dw = dw,
            .angles = angles_,
            .pairing = rotation().pairing,
            .half_rope_dim = rotation().half_rope_dim,
            .eps = kEps});
  });
  const Doubles w = widen(w_);
  expect_gradient(test::download(dx), widen(x_), [&](const Doubles& p) { return loss(p, &w); });
  expect_gradient(test::download(dw), w, [&](const Doubles& p) { return loss(widen(x_), &p); });
}

TEST_P(HeadGradient, OfRopeMatchesDifferences) {
  const Buffer dx = must(device().empty(DType::f32, shape_));
  test::run(device(), [&](Encoder& e) {
    return ops::rope_backward(e, {.dy = test::upload(device(), DType::f32, shape_, dy_),
                                  .dx = dx,
                                  .angles = angles_,
                                  .pairing = rotation().pairing,
                                  .half_rope_dim = rotation().half_rope_dim});
  });
  expect_gradient(test::download(dx), widen(x_),
                  [&](const Doubles& p) { return loss(p, nullptr); });
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, HeadGradient,
    testing::Combine(testing::ValuesIn(test::cpu_and_cuda()),
                     testing::Values(Rotation{"half_dim", ops::Pairing::half_dim, 5},
                                     Rotation{"part_of_half_dim", ops::Pairing::half_dim, 3},
                                     Rotation{"half_rope", ops::Pairing::half_rope, 3},
                                     Rotation{"interleaved", ops::Pairing::interleaved, 5},
                                     Rotation{"part_interleaved", ops::Pairing::interleaved, 2})),
    [](const auto& one) { return std::get<0>(one.param) + "_" + std::get<1>(one.param).name; });

/// f(x), or f(a) · b, with the gradients that the library gives for dy.
struct Activation {
  const char* name;
  double (*at)(double);
  std::function<Result<void>(Encoder&, const View& dy, const View& x, const View& dx)> backward;
  std::function<Result<void>(Encoder&, const View& dy, const View& a, const View& b, const View& da,
                             const View& db)>
      mul_backward = {};
};

double differentiable_silu(double x) { return x / (1 + std::exp(-x)); }
double differentiable_gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double differentiable_gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double differentiable_softcap(double x) { return 1.5 * std::tanh(x / 1.5); }

std::vector<Activation> activations() {
  using V = const View&;
  std::vector<Activation> all = {
      {"mul",
       [](double x) { return x; },
       {},
       [](Encoder& e, V dy, V a, V b, V da, V db) {
         return ops::mul_backward(e, {.dy = dy, .a = a, .b = b, .da = da, .db = db});
       }},
      {"silu", differentiable_silu,
       [](Encoder& e, V dy, V x, V dx) {
         return ops::silu_backward(e, {.dy = dy, .x = x, .dx = dx});
       },
       [](Encoder& e, V dy, V a, V b, V da, V db) {
         return ops::silu_mul_backward(e, {.dy = dy, .a = a, .b = b, .da = da, .db = db});
       }},
      {"softcap", differentiable_softcap,
       [](Encoder& e, V dy, V x, V dx) {
         return ops::softcap_backward(e, {.dy = dy, .x = x, .dx = dx, .cap = 1.5f});
       }},
  };
  for (const auto form : {ops::GeluForm::erf, ops::GeluForm::tanh}) {
    const bool tanh = form == ops::GeluForm::tanh;
    all.push_back({tanh ? "gelu_tanh" : "gelu",
                   tanh ? differentiable_gelu_tanh : differentiable_gelu,
                   [form](Encoder& e, V dy, V x, V dx) {
                     return ops::gelu_backward(e, {.dy = dy, .x = x, .dx = dx, .form = form});
                   },
                   [form](Encoder& e, V dy, V a, V b, V da, V db) {
                     return ops::gelu_mul_backward(
                         e, {.dy = dy, .a = a, .b = b, .da = da, .db = db, .form = form});
                   }});
  }
  return all;
}

class ElementwiseGradient : public test::OnDevice<std::string> {};

TEST_P(ElementwiseGradient, MatchesDifferences) {
  constexpr int64_t kCount = 133;
  const auto upload = [&](const std::vector<float>& values) {
    return test::upload(device(), DType::f32, {kCount}, values);
  };
  const auto dy = test::pattern(kCount, 1);
  auto a = test::pattern(kCount, 2);
  for (float& value : a) value *= 4;
  const auto b = test::pattern(kCount, 3);
  const Buffer da = must(device().empty(DType::f32, {kCount}));
  const Buffer db = must(device().empty(DType::f32, {kCount}));
  for (const Activation& activation : activations()) {
    SCOPED_TRACE(activation.name);
    const auto loss = [&](const Doubles& at_a, const Doubles& at_b) {
      double sum = 0;
      for (size_t i = 0; i < at_a.size(); ++i) sum += dy[i] * activation.at(at_a[i]) * at_b[i];
      return sum;
    };
    if (activation.backward) {
      test::run(device(),
                [&](Encoder& e) { return activation.backward(e, upload(dy), upload(a), da); });
      expect_gradient(test::download(da), widen(a),
                      [&](const Doubles& p) { return loss(p, Doubles(kCount, 1.0)); });
    }
    if (!activation.mul_backward) continue;
    test::run(device(), [&](Encoder& e) {
      return activation.mul_backward(e, upload(dy), upload(a), upload(b), da, db);
    });
    expect_gradient(test::download(da), widen(a),
                    [&](const Doubles& p) { return loss(p, widen(b)); });
    expect_gradient(test::download(db), widen(b),
                    [&](const Doubles& p) { return loss(widen(a), p); });
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ElementwiseGradient, testing::ValuesIn(test::cpu_and_cuda()),
                         test::InstanceName());

}  // namespace
}  // namespace norite
