// SPDX-License-Identifier: MIT
// Angles at the ends of what positions can hold, against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

class Positions : public test::OnDevice<std::string> {
 protected:
  static constexpr int64_t kDim = 128;
  static constexpr size_t kPairs = kDim / 2;
  static constexpr float kTheta = 10000.0f;

  static double angle(double position, size_t pair) {
    return position * std::pow(double{kTheta}, -2.0 * static_cast<double>(pair) / kDim);
  }
  /// What the library promises: float64 on the CPU, and pairs of floats in kernel text.
  [[nodiscard]] double tolerance(double position) const {
    const bool text = on_gpu() || device_name() == test::kText;
    return text && std::abs(position) > 0x1p24 ? 1e-4 : 1e-5;
  }

  /// Pairs (1, 0) become (cos, sin); backward, and without a norm, (cos, -sin).
  void check(const View& positions, const std::vector<double>& at) const {
    const auto tokens = static_cast<int64_t>(at.size());
    const Shape shape = {tokens, 1, kDim};
    std::vector<float> values(at.size() * kDim);
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % kDim < kPairs ? 1.0f : 0.0f;
    const Buffer x = test::upload(device(), DType::f32, shape, values);
    const Buffer y = must(device().empty(DType::f32, shape));
    const ops::RopeAngles angles = {.positions = positions, .theta = kTheta};
    test::run(device(),
              [&](Encoder& e) { return ops::rope(e, {.x = x, .y = y, .angles = angles}); });
    expect_rotated(test::download(y), at, 1);
    test::run(device(), [&](Encoder& e) {
      return ops::rope_backward(e, {.dy = x, .dx = y, .angles = angles});
    });
    expect_rotated(test::download(y), at, -1);
    check_norm_backward(x, y, at, angles);
  }

 private:
  void expect_rotated(const std::vector<float>& got, const std::vector<double>& at,
                      double sign) const {
    for (size_t token = 0; token < at.size(); ++token) {
      for (size_t i = 0; i < kPairs; ++i) {
        const double by = angle(at[token], i);
        const float* pair = &got[token * kDim + i];
        ASSERT_NEAR(pair[0], std::cos(by), tolerance(at[token])) << at[token] << " pair " << i;
        ASSERT_NEAR(pair[kPairs], sign * std::sin(by), tolerance(at[token]))
            << at[token] << " pair " << i;
      }
    }
  }

  /// Its angles are found by other code. With x = 1, dx is what remains of the gradient above its
  /// mean.
  void check_norm_backward(const View& dy, const View& dx, const std::vector<double>& at,
                           const ops::RopeAngles& angles) const {
    const Buffer x =
        test::upload(device(), DType::f32, dy.shape(), std::vector<float>(at.size() * kDim, 1.0f));
    test::run(device(), [&](Encoder& e) {
      return ops::fused_head_norm_rope_backward(
          e, {.x = x, .dy = dy, .dx = dx, .angles = angles, .eps = 0.0f});
    });
    const std::vector<float> got = test::download(dx);
    for (size_t token = 0; token < at.size(); ++token) {
      double mean = 0;
      for (size_t i = 0; i < kPairs; ++i) {
        mean += (std::cos(angle(at[token], i)) - std::sin(angle(at[token], i))) / kDim;
      }
      for (size_t i = 0; i < kPairs; ++i) {
        ASSERT_NEAR(got[token * kDim + i], std::cos(angle(at[token], i)) - mean,
                    2 * tolerance(at[token]))
            << at[token] << " pair " << i;
      }
    }
  }
};

TEST_P(Positions, MayBeAnyUnsignedNumber) {
  const std::vector<uint32_t> positions = {
      0,           1,           131071,      (1u << 24) - 1, (1u << 24) + 1,
      0x7FFFFFFFu, 0x80000000u, 0x80000001u, 0xFFFFFFFEu,    0xFFFFFFFFu};
  check(test::buffer_of(device(), DType::u32, positions), {positions.begin(), positions.end()});
}

TEST_P(Positions, MayBeNegative) {
  using Limits = std::numeric_limits<int32_t>;
  const std::vector<int32_t> positions = {-1,     -131071,       -(1 << 24) - 1,
                                          131071, Limits::min(), Limits::max()};
  check(test::buffer_of(device(), DType::i32, positions), {positions.begin(), positions.end()});
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, Positions, testing::ValuesIn(test::tested_devices()),
                         test::InstanceName());
INSTANTIATE_TEST_SUITE_P(Text, Positions, testing::Values(test::kText), test::InstanceName());

}  // namespace
}  // namespace norite
