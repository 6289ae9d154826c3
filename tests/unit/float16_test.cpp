// SPDX-License-Identifier: MIT
#include "norite/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace norite {
namespace {

struct Binary16 {
  using Type = Float16;
  static constexpr int kFractionBits = 10;
  static constexpr int kBias = 15;
  static constexpr uint32_t kInfinity = 0x7C00;
  static Type round(float value) { return to_float16(value); }
};

struct Brain16 {
  using Type = BFloat16;
  static constexpr int kFractionBits = 7;
  static constexpr int kBias = 127;
  static constexpr uint32_t kInfinity = 0x7F80;
  static Type round(float value) { return to_bfloat16(value); }
};

// What the standard says a magnitude's bits mean. Infinity's bits give the next power of two, which
// is where rounding to nearest takes it to be.
template <class Format>
double meaning(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> Format::kFractionBits);
  const uint32_t fraction = bits & ((1U << Format::kFractionBits) - 1);
  const int scale = 1 - Format::kBias - Format::kFractionBits;
  if (exponent == 0) return std::ldexp(fraction, scale);
  return std::ldexp(fraction + (1U << Format::kFractionBits), scale + exponent - 1);
}

// Nearest magnitude, ties to the even one, found by bisection over all of them.
template <class Format>
uint32_t nearest(double magnitude) {
  uint32_t below = 0;
  uint32_t above = Format::kInfinity;
  if (magnitude >= meaning<Format>(above)) return above;
  while (above - below > 1) {
    const uint32_t middle = (below + above) / 2;
    (meaning<Format>(middle) <= magnitude ? below : above) = middle;
  }
  const double down = magnitude - meaning<Format>(below);
  const double up = meaning<Format>(above) - magnitude;
  if (down != up) return down < up ? below : above;
  return below % 2 == 0 ? below : above;
}

template <class Format>
class Float16Test : public testing::Test {
 public:
  static void expect_nearest(float magnitude) {
    const uint32_t expected = nearest<Format>(magnitude);
    ASSERT_EQ(Format::round(magnitude).bits, expected) << magnitude;
    ASSERT_EQ(Format::round(-magnitude).bits, expected | 0x8000U) << -magnitude;
  }
};

using Formats = testing::Types<Binary16, Brain16>;
TYPED_TEST_SUITE(Float16Test, Formats);

TYPED_TEST(Float16Test, every_finite_pattern_has_its_ieee_value) {
  for (uint32_t bits = 0; bits < TypeParam::kInfinity; ++bits) {
    const typename TypeParam::Type positive = {static_cast<uint16_t>(bits)};
    const typename TypeParam::Type negative = {static_cast<uint16_t>(bits | 0x8000U)};
    ASSERT_EQ(to_float(positive), meaning<TypeParam>(bits)) << bits;
    ASSERT_EQ(to_float(negative), -meaning<TypeParam>(bits)) << bits;
    ASSERT_TRUE(std::signbit(to_float(negative))) << bits;
  }
}

TYPED_TEST(Float16Test, every_pattern_survives_the_way_through_float) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const typename TypeParam::Type value = {static_cast<uint16_t>(bits)};
    const bool nan = (bits & 0x7FFFU) > TypeParam::kInfinity;
    // A signalling NaN comes back quiet.
    const uint32_t expected = nan ? bits | (1U << (TypeParam::kFractionBits - 1)) : bits;
    ASSERT_EQ(std::isnan(to_float(value)), nan) << bits;
    ASSERT_EQ(TypeParam::round(to_float(value)).bits, expected) << bits;
  }
}

// Rounding is monotone, so these points around every tie pin down every float in between.
TYPED_TEST(Float16Test, rounds_to_nearest_even_around_every_tie) {
  for (uint32_t bits = 0; bits < TypeParam::kInfinity; ++bits) {
    const double tie = (meaning<TypeParam>(bits) + meaning<TypeParam>(bits + 1)) / 2;
    const auto middle = static_cast<float>(tie);
    ASSERT_EQ(middle, tie);
    for (const float value :
         {std::nextafterf(middle, 0.0F), middle, std::nextafterf(middle, INFINITY)}) {
      this->expect_nearest(value);
    }
  }
}

TYPED_TEST(Float16Test, rounds_random_floats_to_nearest_even) {
  std::mt19937 random(16);
  for (int i = 0; i < 200'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x7FFFFFFFU);
    if (!std::isnan(value)) this->expect_nearest(value);
  }
}

TYPED_TEST(Float16Test, what_is_too_large_becomes_infinite) {
  const auto largest = static_cast<float>(meaning<TypeParam>(TypeParam::kInfinity - 1));
  EXPECT_EQ(TypeParam::round(largest).bits, TypeParam::kInfinity - 1);
  EXPECT_EQ(TypeParam::round(std::numeric_limits<float>::max()).bits, TypeParam::kInfinity);
  EXPECT_EQ(TypeParam::round(INFINITY).bits, TypeParam::kInfinity);
  EXPECT_EQ(TypeParam::round(-INFINITY).bits, TypeParam::kInfinity | 0x8000U);
}

TYPED_TEST(Float16Test, nan_stays_a_quiet_nan_of_its_sign) {
  const uint32_t quiet = 1U << (TypeParam::kFractionBits - 1);
  for (const uint32_t payload : {0x1U, 0x1FFFU, 0x2000U, 0xFFFFU, 0x10000U, 0x400000U, 0x7FFFFFU}) {
    for (const uint32_t sign : {0U, 0x80000000U}) {
      const auto bits = TypeParam::round(std::bit_cast<float>(sign | 0x7F800000U | payload)).bits;
      EXPECT_GT(bits & 0x7FFFU, TypeParam::kInfinity) << payload;
      EXPECT_EQ(bits & quiet, quiet) << payload;
      EXPECT_EQ(bits & 0x8000U, sign >> 16) << payload;
    }
  }
}

}  // namespace
}  // namespace norite
