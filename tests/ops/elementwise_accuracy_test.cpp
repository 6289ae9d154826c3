// SPDX-License-Identifier: MIT
// The elementwise functions on f32 of every sign and exponent and on all values of 16 bits, in
// units of the last place of the float64 result, on every SIMD level, as kernel text, and on a GPU.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

constexpr float kCap = 30.0f;

/// Where a function is right: its value, and what its errors are relative to.
struct Truth {
  double value;
  double magnitude;
};

struct Function {
  const char* name;
  std::function<Result<void>(Encoder&, const View& x, const View& ones, const View& y)> encode;
  Truth (*at)(double x);
  double units;  // of the last place, at most
};

/// A product in which an infinite x meets a vanishing factor is zero.
double product(double x, double factor) { return factor == 0 ? 0 : x * factor; }

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double gelu_inner(double x) { return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
double phi(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI); }

Truth plain(double value) { return {value, std::abs(value)}; }
Truth sum(double a, double b) { return {a + b, std::abs(a) + std::abs(b)}; }

Truth silu_slope(double x) { return sum(sigmoid(x), product(x, sigmoid(x) * sigmoid(-x))); }
Truth gelu_slope(double x) { return sum(phi(x), product(x, density(x))); }

/// The rounding of the exponent v costs |v| units of its exponential.
Truth gelu_tanh(double x) {
  const double v = gelu_inner(x);
  const double value = product(x, sigmoid(v));
  return {value, std::abs(value) * (1 + product(std::abs(v), sigmoid(-v)))};
}
Truth gelu_tanh_slope(double x) {
  const double v = gelu_inner(x);
  const double slope = 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
  const double s = sigmoid(v), rest = sigmoid(-v);
  const double bend = product(x * slope, s * rest);
  return {s + bend, s * (1 + product(std::abs(v), rest)) +
                        std::abs(bend) * (1 + (bend == 0 ? 0 : std::abs(v)))};
}
Truth softcap_slope(double x) {
  const double t = std::exp(-2 * std::abs(x / kCap));
  const double value = 4 * t / ((1 + t) * (1 + t));
  return {value, value + product(2 * std::abs(x / kCap), value)};
}

const std::vector<Function>& functions() {
  using V = const View&;
  using ops::GeluForm;
  static const std::vector<Function> all = {
      {"silu", [](Encoder& e, V x, V, V y) { return ops::silu(e, {.x = x, .y = y}); },
       [](double x) { return plain(product(x, sigmoid(x))); }, 3.5},
      {"silu_backward",
       [](Encoder& e, V x, V ones, V y) {
         return ops::silu_backward(e, {.dy = ones, .x = x, .dx = y});
       },
       silu_slope, 4},
      {"gelu", [](Encoder& e, V x, V, V y) { return ops::gelu(e, {.x = x, .y = y}); },
       [](double x) { return plain(product(x, phi(x))); }, 6.5},
      {"gelu_backward",
       [](Encoder& e, V x, V ones, V y) {
         return ops::gelu_backward(e, {.dy = ones, .x = x, .dx = y});
       },
       gelu_slope, 4},
      {"gelu_tanh",
       [](Encoder& e, V x, V, V y) {
         return ops::gelu(e, {.x = x, .y = y, .form = GeluForm::tanh});
       },
       gelu_tanh, 3},
      {"gelu_tanh_backward",
       [](Encoder& e, V x, V ones, V y) {
         return ops::gelu_backward(e, {.dy = ones, .x = x, .dx = y, .form = GeluForm::tanh});
       },
       gelu_tanh_slope, 3},
      {"softcap",
       [](Encoder& e, V x, V, V y) { return ops::softcap(e, {.x = x, .y = y, .cap = kCap}); },
       [](double x) { return plain(kCap * std::tanh(x / kCap)); }, 3.5},
      {"softcap_backward",
       [](Encoder& e, V x, V ones, V y) {
         return ops::softcap_backward(e, {.dy = ones, .x = x, .dx = y, .cap = kCap});
       },
       softcap_slope, 2.5},
  };
  return all;
}

/// Where 16 bits round, a result is off by half a unit, and by what its arithmetic was off: 2^-20
/// in f16, 2^-17 in bf16, which is 2^-9 of their units at most.
constexpr double kRoundedUnits = 0.5 + 0x1p-9;

struct Inputs {
  DType dtype;
  int digits;    // of a mantissa
  int smallest;  // exponent of the smallest subnormal
  std::vector<float> values;

  [[nodiscard]] double units_allowed(const Function& function) const {
    return dtype == DType::f32 ? function.units : kRoundedUnits;
  }
  /// Distance of the dtype's values at that size.
  [[nodiscard]] double unit(double size) const {
    int exponent = 0;
    std::frexp(size, &exponent);
    return std::ldexp(1, std::max(exponent - digits, smallest));
  }
};

/// Every `step`-th bit pattern.
Inputs floats(uint64_t step) {
  Inputs inputs{DType::f32, 24, -149, {}};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += step) {
    inputs.values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return inputs;
}

/// Every bit pattern of Float16 or BFloat16.
template <class T>
std::vector<float> every_value() {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
    values.push_back(to_float(T{static_cast<uint16_t>(bits)}));
  }
  return values;
}

void check(const Device& device, const Inputs& inputs) {
  SCOPED_TRACE(name(inputs.dtype));
  const std::vector<float>& x = inputs.values;
  const Shape shape = {static_cast<int64_t>(x.size())};
  const Buffer in = test::upload(device, inputs.dtype, shape, x);
  const Buffer ones = test::upload(device, inputs.dtype, shape, std::vector<float>(x.size(), 1.0f));
  const Buffer out = must(device.empty(inputs.dtype, shape));
  for (const Function& function : functions()) {
    SCOPED_TRACE(function.name);
    test::run(device, [&](Encoder& e) { return function.encode(e, in, ones, out); });
    const std::vector<float> got = test::download(out);
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << std::hexfloat << x[i];
        continue;
      }
      const Truth truth = function.at(x[i]);
      if (got[i] == static_cast<float>(truth.value)) continue;
      ASSERT_TRUE(std::isfinite(got[i])) << x[i] << " gives " << got[i];
      const double units = std::abs(got[i] - truth.value) / inputs.unit(truth.magnitude);
      if (units > worst) worst = units, where = x[i];
    }
    EXPECT_LE(worst, inputs.units_allowed(function)) << "at " << where;
  }
}

class ElementwiseAccuracy : public test::OnDevice<std::string> {};

TEST_P(ElementwiseAccuracy, IsAFewUnitsOfTheLastPlace) {
  check(device(), floats(device_name() == test::kText ? 65521 : 16381));
}

TEST_P(ElementwiseAccuracy, IsARoundingIn16Bits) {
  check(device(), {DType::f16, 11, -24, every_value<Float16>()});
  check(device(), {DType::bf16, 8, -133, every_value<BFloat16>()});
}

/// e^x is subnormal in f32, and may not be rounded to that before a large factor makes it normal.
TEST_P(ElementwiseAccuracy, OfTailsStaysUnderALargeFactor) {
  constexpr float kFactor = 0x1p100f;
  std::vector<float> x;
  for (float value = -100; value < -87; value += 0.5f) x.push_back(value);
  const Shape shape = {static_cast<int64_t>(x.size())};
  const Buffer in = test::upload(device(), DType::bf16, shape, x);
  const Buffer large =
      test::upload(device(), DType::bf16, shape, std::vector<float>(x.size(), kFactor));
  const Buffer y = must(device().empty(DType::bf16, shape)),
               dx = must(device().empty(DType::bf16, shape));
  test::run(device(), [&](Encoder& e) -> Result<void> {
    NORITE_TRY(ops::silu_mul(e, {.a = in, .b = large, .y = y}));
    return ops::silu_backward(e, {.dy = large, .x = in, .dx = dx});
  });
  const std::vector<float> products = test::download(y), gradients = test::download(dx);
  for (size_t i = 0; i < x.size(); ++i) {
    const double product = x[i] * sigmoid(x[i]) * kFactor;
    const double gradient = silu_slope(x[i]).value * kFactor;
    EXPECT_NEAR(products[i] / product, 1, 0x1.2p-8) << x[i];
    EXPECT_NEAR(gradients[i] / gradient, 1, 0x1.2p-8) << x[i];
  }
}

/// Native kernels, and kernel text on both kinds of device.
std::vector<std::string> devices() {
  std::vector<std::string> names = test::tested_devices();
  names.emplace_back(test::kText);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ElementwiseAccuracy, testing::ValuesIn(devices()),
                         test::InstanceName());

}  // namespace
}  // namespace norite
