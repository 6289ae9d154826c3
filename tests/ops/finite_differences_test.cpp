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

enum class Weight : uint8_t { plain, one_plus, none };

struct WeightName {
  std::string operator()(const testing::TestParamInfo<std::tuple<std::string, Weight>>& one) const {
    constexpr const char* kNames[] = {"_plain", "_one_plus", "_no_weight"};
    return std::get<0>(one.param) + kNames[static_cast<size_t>(std::get<1>(one.param))];
  }
};

ops::WeightMode mode_of(Weight weight) {
  return weight == Weight::one_plus ? ops::WeightMode::one_plus : ops::WeightMode::plain;
}

/// What x * r is multiplied by.
Doubles factors_of(Weight weight, Doubles w) {
  for (double& value : w) {
    value = weight == Weight::none ? 1 : weight == Weight::one_plus ? 1 + value : value;
  }
  return w;
}

class NormGradient : public test::OnDevice<std::tuple<std::string, Weight>> {};

TEST_P(NormGradient, MatchesDifferences) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kDim = 19;
  constexpr float kEps = 1e-3f;
  const Weight weight = std::get<1>(GetParam());
  const bool weighted = weight != Weight::none;
  const auto x = test::pattern(kRows * kDim, 1);
  const auto w = test::pattern(kDim, 2);
  const auto dy = test::pattern(kRows * kDim, 3);
  const auto dresidual = test::pattern(kRows * kDim, 4);
  const Buffer dx = must(device().empty(DType::f32, {kRows, kDim}));
  const Buffer dw = must(device().empty(DType::f32, {kDim}));
  test::run(device(), [&](Encoder& e) {
    return ops::rms_norm_backward(
        e, {.x = test::upload(device(), DType::f32, {kRows, kDim}, x),
            .weight = weighted ? View(test::upload(device(), DType::f32, {kDim}, w)) : View(),
            .dy = test::upload(device(), DType::f32, {kRows, kDim}, dy),
            .dresidual = test::upload(device(), DType::f32, {kRows, kDim}, dresidual),
            .dx = dx,
            .dw = weighted ? View(dw) : View(),
            .eps = kEps,
            .weight_mode = mode_of(weight)});
  });
  const auto loss = [&](const Doubles& at_x, const Doubles& at_w) {
    const Doubles factors = factors_of(weight, at_w);
    double sum = 0;
    for (size_t i = 0; i < at_x.size(); ++i) {
      const double r = norm_scale(at_x, i / kDim * kDim, kDim, kEps);
      sum += dy[i] * at_x[i] * r * factors[i % kDim] + dresidual[i] * at_x[i];
    }
    return sum;
  };
  expect_gradient(test::download(dx), widen(x),
                  [&](const Doubles& p) { return loss(p, widen(w)); });
  if (!weighted) return;
  expect_gradient(test::download(dw), widen(w),
                  [&](const Doubles& p) { return loss(widen(x), p); });
}

INSTANTIATE_TEST_SUITE_P(Weights, NormGradient,
                         testing::Combine(testing::ValuesIn(test::cpu_and_cuda()),
                                          testing::Values(Weight::plain, Weight::one_plus,
                                                          Weight::none)),
                         WeightName());

struct Rotation {
  enum class Angles : uint8_t { computed, divided, cached };

  const char* name;
  ops::Pairing pairing;
  int64_t half_rope_dim;
  Angles angles = Angles::computed;  // divided: by freq_factors
  int64_t head_dim = 10;
};

class HeadGradient : public test::OnDevice<std::tuple<std::string, Rotation>> {
 protected:
  static const Rotation& rotation() { return std::get<1>(GetParam()); }
  static constexpr int64_t kTokens = 3;
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kFirst = 7;
  static constexpr float kTheta = 100.0f;
  static constexpr float kEps = 1e-3f;

  static double freq_factor(int64_t pair) { return 0.5 + 0.25 * static_cast<double>(pair); }
  static double angle(int64_t token, int64_t pair) {
    // Cached angles may be any.
    if (rotation().angles == Rotation::Angles::cached) {
      return 0.3 * static_cast<double>(token + 1) - 0.7 * static_cast<double>(pair);
    }
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim());
    const double by = static_cast<double>(kFirst + token) * std::pow(double{kTheta}, exponent);
    return rotation().angles == Rotation::Angles::divided ? by / freq_factor(pair) : by;
  }
  static int64_t head_dim() { return rotation().head_dim; }

  [[nodiscard]] ops::RopeAngles angles() const {
    const int64_t pairs = rotation().half_rope_dim;
    std::vector<float> factors, cos, sin;
    for (int64_t i = 0; i < kTokens * pairs; ++i) {
      if (i < pairs) factors.push_back(static_cast<float>(freq_factor(i)));
      cos.push_back(static_cast<float>(std::cos(angle(i / pairs, i % pairs))));
      sin.push_back(static_cast<float>(std::sin(angle(i / pairs, i % pairs))));
    }
    switch (rotation().angles) {
      case Rotation::Angles::cached:
        return {.cos = test::upload(device(), DType::f32, {kTokens, pairs}, cos),
                .sin = test::upload(device(), DType::f32, {kTokens, pairs}, sin)};
      case Rotation::Angles::divided:
        return {.first_position = kFirst,
                .theta = kTheta,
                .freq_factors = test::upload(device(), DType::f32, {pairs}, factors)};
      default:
        return {.first_position = kFirst, .theta = kTheta};
    }
  }

  /// Rotates one head in float64.
  static void rotate(double* head, int64_t token) {
    const ops::Pairing pairing = rotation().pairing;
    const int64_t half = rotation().half_rope_dim;
    for (int64_t i = 0; i < half; ++i) {
      const double cos = std::cos(angle(token, i)), sin = std::sin(angle(token, i));
      const int64_t a = pairing == ops::Pairing::interleaved ? 2 * i : i;
      const int64_t b = pairing == ops::Pairing::interleaved ? 2 * i + 1
                        : pairing == ops::Pairing::half_dim  ? i + head_dim() / 2
                                                             : i + half;
      const double rotated = head[a] * cos - head[b] * sin;
      head[b] = head[b] * cos + head[a] * sin;
      head[a] = rotated;
    }
  }

  /// Without factors, heads are not normalised.
  double loss(Doubles v, const Doubles* factors) const {
    const auto dim = static_cast<size_t>(head_dim());
    for (size_t head = 0; head < kTokens * kHeads; ++head) {
      const size_t first = head * dim;
      const double r = factors != nullptr ? norm_scale(v, first, dim, kEps) : 1;
      for (size_t i = 0; factors != nullptr && i < dim; ++i) v[first + i] *= r * (*factors)[i];
      rotate(&v[first], static_cast<int64_t>(head) / kHeads);
    }
    double sum = 0;
    for (size_t i = 0; i < v.size(); ++i) sum += dy_[i] * v[i];
    return sum;
  }

  void check_norm_and_rope(Weight weight) const {
    const bool weighted = weight != Weight::none;
    const Buffer dx = must(device().empty(DType::f32, shape_));
    const Buffer dw = must(device().empty(DType::f32, {head_dim()}));
    test::run(device(), [&](Encoder& e) {
      return ops::fused_head_norm_rope_backward(
          e,
          {.x = test::upload(device(), DType::f32, shape_, x_),
           .weight = weighted ? View(test::upload(device(), DType::f32, {head_dim()}, w_)) : View(),
           .dy = test::upload(device(), DType::f32, shape_, dy_),
           .dx = dx,
           .dw = weighted ? View(dw) : View(),
           .angles = angles(),
           .pairing = rotation().pairing,
           .half_rope_dim = rotation().half_rope_dim,
           .eps = kEps,
           .weight_mode = mode_of(weight)});
    });
    const Doubles factors = factors_of(weight, widen(w_));
    expect_gradient(test::download(dx), widen(x_),
                    [&](const Doubles& p) { return loss(p, &factors); });
    if (!weighted) return;
    expect_gradient(test::download(dw), widen(w_), [&](const Doubles& p) {
      const Doubles at = factors_of(weight, p);
      return loss(widen(x_), &at);
    });
  }

  const Shape shape_ = {kTokens, kHeads, head_dim()};
  const std::vector<float> x_ = test::pattern(*shape_.count(), 1);
  const std::vector<float> w_ = test::pattern(head_dim(), 2);
  const std::vector<float> dy_ = test::pattern(*shape_.count(), 3);
};

TEST_P(HeadGradient, OfNormAndRopeMatchesDifferences) {
  for (const Weight weight : {Weight::plain, Weight::one_plus, Weight::none}) {
    SCOPED_TRACE(static_cast<int>(weight));
    check_norm_and_rope(weight);
  }
}

TEST_P(HeadGradient, OfRopeMatchesDifferences) {
  const Buffer dx = must(device().empty(DType::f32, shape_));
  test::run(device(), [&](Encoder& e) {
    return ops::rope_backward(e, {.dy = test::upload(device(), DType::f32, shape_, dy_),
                                  .dx = dx,
                                  .angles = angles(),
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
                                     Rotation{"part_interleaved", ops::Pairing::interleaved, 2},
                                     Rotation{"cached", ops::Pairing::half_dim, 3,
                                              Rotation::Angles::cached},
                                     Rotation{"freq_factors", ops::Pairing::half_rope, 3,
                                              Rotation::Angles::divided},
                                     // Kernels have code of their own for it.
                                     Rotation{"common_size", ops::Pairing::half_dim, 32,
                                              Rotation::Angles::divided, 64})),
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
