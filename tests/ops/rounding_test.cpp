// SPDX-License-Identifier: MIT
// Conversions to and from 16 bits on every device, against the scalar ones: ties, carries into
// the exponent, overflow, subnormals and NaN among all exponents. A rotation by nothing, with a
// second output in another dtype, is a conversion.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

constexpr int64_t kDim = 1024;

/// Every sign and exponent with the mantissas around the points where rounding turns.
std::vector<float> interesting_floats() {
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 1u << 16; upper += 7) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u,
                                 0x8001u, 0xEFFFu, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  for (uint32_t mantissa = 0; mantissa < 1u << 13; ++mantissa) {  // around f16's ties and its limit
    values.push_back(std::bit_cast<float>(0x3F800000u | mantissa));
    values.push_back(std::bit_cast<float>(0x477FE000u | mantissa));
    values.push_back(std::bit_cast<float>(0x33000000u | mantissa << 10));
  }
  values.resize((values.size() + kDim - 1) / kDim * kDim);
  return values;
}

class Rounding : public test::OnDevice<std::string> {
 protected:
  /// The values as the device's kernels convert them.
  std::vector<uint16_t> narrowed(const std::vector<float>& values, DType to) const {
    const Shape shape = {static_cast<int64_t>(values.size()) / kDim, 1, kDim};
    const Buffer x = test::upload(device(), DType::f32, shape, values);
    const Buffer y = must(device().empty(DType::f32, shape));
    const Buffer copy = must(device().empty(to, shape));
    test::run(device(), [&](Encoder& e) {
      return ops::rope(e, {.x = x, .y = y, .copy = copy, .half_rope_dim = 0});
    });
    const auto bytes = test::download_bytes(copy);
    std::vector<uint16_t> bits(values.size());
    std::memcpy(bits.data(), bytes.data(), bytes.size());
    return bits;
  }
};

/// NaNs that nothing has computed, in every place of a block, beside zeros and beside other
/// numbers: instructions for bf16 take another way with zeros.
TEST_P(Rounding, OfANaNIsANaNThatDependsOnNothingElse) {
  constexpr size_t kColumns = 67;
  const Shape shape = {kColumns, kColumns};
  for (const DType to : {DType::f16, DType::bf16}) {
    for (const uint32_t bits : {0x7F800001u, 0x7FA00000u, 0xFF800001u, 0x7FC0FFFFu, 0xFFFFFFFFu}) {
      SCOPED_TRACE(fmt::format("{} of {:08x}", name(to), bits));
      std::set<uint16_t> seen;
      for (const float neighbour : {0.0f, 1.0f, 1e-42f}) {
        std::vector<float> values(kColumns * kColumns, neighbour);
        for (size_t i = 0; i < kColumns; ++i)
          values[i * (kColumns + 1)] = std::bit_cast<float>(bits);
        const Buffer x = test::upload(device(), DType::f32, shape, values);
        const Buffer y = must(device().empty(to, shape));
        test::run(device(), [&](Encoder& e) { return ops::copy(e, {.x = x, .y = y}); });
        const auto bytes = test::download_bytes(y);
        for (size_t i = 0; i < kColumns; ++i) {
          uint16_t one = 0;
          std::memcpy(&one, &bytes[i * (kColumns + 1) * sizeof one], sizeof one);
          seen.insert(one);
        }
      }
      ASSERT_EQ(seen.size(), 1U);
      const uint16_t one = *seen.begin();
      EXPECT_TRUE(std::isnan(to == DType::f16 ? to_float(Float16{one}) : to_float(BFloat16{one})));
    }
  }
}

TEST_P(Rounding, ToBFloat16IsNearestEven) {
  const auto values = interesting_floats();
  const auto got = narrowed(values, DType::bf16);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(to_float(BFloat16{got[i]}))) << std::hexfloat << values[i];
    } else {
      ASSERT_EQ(got[i], to_bfloat16(values[i]).bits) << std::hexfloat << values[i];
    }
  }
}

TEST_P(Rounding, ToFloat16IsNearestEven) {
  const auto values = interesting_floats();
  const auto got = narrowed(values, DType::f16);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(to_float(Float16{got[i]}))) << std::hexfloat << values[i];
    } else {
      ASSERT_EQ(got[i], to_float16(values[i]).bits) << std::hexfloat << values[i];
    }
  }
}

TEST_P(Rounding, EverySixteenBitValueWidensExactly) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<uint16_t> bits(1u << 16);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    const Shape shape = {static_cast<int64_t>(bits.size()) / kDim, 1, kDim};
    Buffer x = must(device().empty(dtype, shape));
    must(x.write(std::as_bytes(std::span(bits))));
    const Buffer copy = must(device().empty(DType::f32, shape));
    test::run(device(), [&](Encoder& e) {
      return ops::rope(e, {.x = x, .y = x, .copy = copy, .half_rope_dim = 0});
    });
    const auto got = test::download(copy);
    for (size_t i = 0; i < bits.size(); ++i) {
      const float want =
          dtype == DType::f16 ? to_float(Float16{bits[i]}) : to_float(BFloat16{bits[i]});
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got[i])) << name(dtype) << " " << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want))
            << name(dtype) << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, Rounding, testing::ValuesIn(test::tested_devices()),
                         test::InstanceName());
INSTANTIATE_TEST_SUITE_P(Text, Rounding, testing::Values(test::kText), test::InstanceName());

}  // namespace
}  // namespace norite
