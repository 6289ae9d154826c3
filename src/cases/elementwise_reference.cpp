// SPDX-License-Identifier: MIT
#include "cases/elementwise_reference.hpp"

#include "cases/norm.hpp"

#include <cmath>
#include <numbers>

namespace norite::cases {
namespace {

using std::abs;
using std::numbers::pi;

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

/// x · factor, where a factor that vanishes wins over an infinite x.
double product(double x, double factor) { return factor == 0 ? std::copysign(0.0, x) : x * factor; }

/// As f32 holds it: zero far below its range, which matters to an infinity that it meets.
double in_f32_range(double value) {
  return abs(value) <= 0x1p-150 ? std::copysign(0.0, value) : value;
}

Expected exactly(double value) { return {.value = in_f32_range(value), .magnitude = abs(value)}; }

}  // namespace

Point silu_at(double x) {
  const double s = sigmoid(x);
  const double bend = product(x, s * sigmoid(-x));
  return {exactly(product(x, s)), {.value = in_f32_range(s + bend), .magnitude = s + abs(bend)}};
}

Point gelu_at(double x) {
  const double share = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  const double bend = product(x, std::exp(-0.5 * x * x) / std::sqrt(2 * pi));
  return {exactly(product(x, share)),
          {.value = in_f32_range(share + bend), .magnitude = share + abs(bend)}};
}

// x · s(v). An error of v's last place is one of |v| places in its exponential.
Point gelu_tanh_at(double x) {
  const double scale = 2 * std::sqrt(2 / pi);
  const double v = scale * (x + 0.044715 * x * x * x);
  const double v_slope = scale * (1 + 3 * 0.044715 * x * x);
  const double s = sigmoid(v);
  const double rest = sigmoid(-v);
  const double value = product(x, s);
  const double bend = product(x * v_slope, s * rest);
  const double s_error = 1 + abs(product(v, rest));
  const double bend_error = abs(bend) + abs(product(v, bend));
  return {{.value = in_f32_range(value), .magnitude = abs(value) * s_error},
          {.value = in_f32_range(s + bend), .magnitude = s * s_error + bend_error}};
}

Point softcap_at(double x, double cap) {
  const double y = x / cap;
  const double t = std::exp(-2 * abs(y));
  const double slope = 4 * t / ((1 + t) * (1 + t));
  return {exactly(cap * std::tanh(y)),
          {.value = in_f32_range(slope), .magnitude = slope + abs(product(2 * y, slope))}};
}

Expected times(const Expected& computed, double factor) {
  return {.value = computed.value * factor,
          .magnitude = computed.magnitude * abs(factor),
          .slack = (computed.slack + kTiny) * abs(factor) + kTiny};
}

}  // namespace norite::cases
