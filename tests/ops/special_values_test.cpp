// SPDX-License-Identifier: MIT
// NaN, infinities, subnormals, signed zeros and huge values: each behaves as f32 arithmetic says,
// and a row that holds one leaves its neighbours' bits alone.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kDim = 70;  // whole blocks and a tail on every level
constexpr size_t kAt = 67;    // in the tail
constexpr float kEps = 1e-6f;

enum Row : int64_t { kOrdinary, kOneNan, kOneInf, kMinusInf, kSubnormal, kMinusZero, kHuge, kRows };

class SpecialValues : public test::OnDevice<std::tuple<std::string, DType>> {
 protected:
  [[nodiscard]] float smallest() const {
    return dtype_ == DType::f32 ? 0x1p-149f : dtype_ == DType::f16 ? 0x1p-24f : 0x1p-133f;
  }
  [[nodiscard]] float huge() const { return dtype_ == DType::f16 ? 60000.0f : 1e30f; }

  /// Rows of every kind, the value at kAt or the whole row special.
  [[nodiscard]] std::vector<float> special_rows() const {
    std::vector<float> values = test::pattern(kRows * kDim, 11);
    const auto at = [&](Row row, size_t i) -> float& {
      return values[static_cast<size_t>(row * kDim) + i];
    };
    at(kOneNan, kAt) = kNan;
    at(kOneInf, kAt) = kInf;
    at(kMinusInf, kAt) = -kInf;
    for (size_t i = 0; i < kDim; ++i) {
      at(kSubnormal, i) = smallest() * static_cast<float>(i % 5);
      at(kMinusZero, i) = -0.0f;
      at(kHuge, i) = i % 2 == 0 ? huge() : -huge();
    }
    return values;
  }

  [[nodiscard]] Buffer rows(const std::vector<float>& values) const {
    return test::upload(device(), dtype_, {kRows, kDim}, values);
  }
  [[nodiscard]] Buffer empty_rows() const { return must(device().empty(dtype_, {kRows, kDim})); }

  static float at(const std::vector<float>& values, Row row, size_t i) {
    return values[static_cast<size_t>(row * kDim) + i];
  }
  template <class Predicate>
  static void all_of(const std::vector<float>& values, Row row, Predicate holds) {
    for (size_t i = 0; i < kDim; ++i) {
      EXPECT_TRUE(holds(at(values, row, i), i))
          << "row " << row << " element " << i << " is " << at(values, row, i);
    }
  }

  const DType dtype_ = std::get<1>(GetParam());
};

bool is_nan(float value, size_t) { return std::isnan(value); }

TEST_P(SpecialValues, RmsNorm) {
  const std::vector<float> x = special_rows();
  const Buffer y = empty_rows();
  const Buffer r = must(device().empty(DType::f32, {kRows}));
  test::run(device(), [&](Encoder& e) {
    return ops::rms_norm(e, {.x = rows(x), .y = y, .rms_inv = r, .eps = kEps});
  });
  const auto got = test::download(y);
  const auto scale = test::download(r);
  all_of(got, kOneNan, is_nan);
  for (const Row row : {kOneInf, kMinusInf}) {  // r is 0: the infinity becomes NaN, the rest zero
    EXPECT_EQ(scale[row], 0.0f);
    all_of(got, row, [](float v, size_t i) { return i == kAt ? std::isnan(v) : v == 0; });
  }
  all_of(got, kMinusZero, [](float v, size_t) { return v == 0 && std::signbit(v); });
  EXPECT_FLOAT_EQ(scale[kMinusZero], 1 / std::sqrt(kEps));
  if (dtype_ == DType::f16) {  // its largest values fit in f32 with their squares
    all_of(got, kHuge, [](float v, size_t) { return std::abs(v) == 1.0f; });
  } else {
    all_of(got, kHuge, [](float v, size_t) { return v == 0; });
  }
  if (dtype_ != DType::f16) {  // squares vanish, and eps alone makes r
    EXPECT_FLOAT_EQ(scale[kSubnormal], 1 / std::sqrt(kEps));
    all_of(got, kSubnormal, [&](float v, size_t i) {
      const float expected = smallest() * static_cast<float>(i % 5) * 1000.0f;
      return std::abs(v - expected) <= 0.01f * expected + smallest();
    });
  }
}

TEST_P(SpecialValues, RmsNormBackward) {
  const std::vector<float> x = test::pattern(kRows * kDim, 5);
  const Buffer dx = empty_rows();
  test::run(device(), [&](Encoder& e) {
    return ops::rms_norm_backward(
        e, {.x = rows(x), .dy = rows(special_rows()), .dx = dx, .eps = kEps});
  });
  const auto got = test::download(dx);
  all_of(got, kOneNan, is_nan);  // s is NaN, and so is every element that meets it
  for (const Row row : {kOneInf, kMinusInf}) {
    all_of(got, row, [](float v, size_t) { return !std::isfinite(v); });
  }
  all_of(got, kMinusZero, [](float v, size_t) { return v == 0; });
  if (dtype_ != DType::f16) {
    all_of(got, kHuge, [](float v, size_t) { return std::isfinite(v); });
  }
}

TEST_P(SpecialValues, WeightGradientTakesItsColumn) {
  std::vector<float> dy = test::pattern(kRows * kDim, 5);
  dy[3 * kDim + kAt] = kNan;
  const Buffer dw = must(device().empty(DType::f32, {kDim}));
  test::run(device(), [&](Encoder& e) {
    return ops::rms_norm_backward(
        e, {.x = rows(test::pattern(kRows * kDim, 6)),
            .weight = test::upload(device(), dtype_, {kDim}, test::pattern(kDim, 7)),
            .dy = rows(dy),
            .dw = dw});
  });
  const auto got = test::download(dw);
  for (size_t i = 0; i < kDim; ++i) EXPECT_EQ(std::isnan(got[i]), i == kAt) << i;
}

TEST_P(SpecialValues, RopeTouchesThePairAlone) {
  const Buffer y = empty_rows();
  test::run(device(), [&](Encoder& e) {
    return ops::rope(e, {.x = must(View(rows(special_rows())).reshape({kRows, 1, kDim})),
                         .y = must(View(y).reshape({kRows, 1, kDim})),
                         .angles = {.first_position = 1}});
  });
  const auto got = test::download(y);
  const auto in_pair = [](size_t i) { return i == kAt || i == kAt - kDim / 2; };
  all_of(got, kOneNan, [&](float v, size_t i) { return std::isnan(v) == in_pair(i); });
  for (const Row row : {kOneInf, kMinusInf}) {
    all_of(got, row, [&](float v, size_t i) { return std::isfinite(v) != in_pair(i); });
  }
  all_of(got, kMinusZero, [](float v, size_t) { return v == 0; });
}

TEST_P(SpecialValues, ComputeD) {
  const Buffer d = must(device().empty(DType::f32, {kRows}));
  test::run(device(), [&](Encoder& e) {
    const std::vector<float> ones(kRows * kDim, 1.0f);
    return ops::flash_attn_train_bwd_compute_d(
        e, {.o = rows(special_rows()), .d_o = rows(ones), .d = d});
  });
  const auto got = test::download(d);
  EXPECT_TRUE(std::isnan(got[kOneNan]));
  EXPECT_EQ(got[kOneInf], kInf);
  EXPECT_EQ(got[kMinusInf], -kInf);
  EXPECT_EQ(got[kMinusZero], 0.0f);
  EXPECT_EQ(got[kHuge], 0.0f);  // as many of either sign
  float sum = 0;
  for (size_t i = 0; i < kDim; ++i) sum += smallest() * static_cast<float>(i % 5);
  EXPECT_EQ(got[kSubnormal], sum);
}

// What each operation makes of a batch with special rows in it and without them.
TEST_P(SpecialValues, LeaveOtherRowsAlone) {
  using Encode = std::function<Result<void>(Encoder&, const View& x, const View& y)>;
  const Buffer other = rows(test::pattern(kRows * kDim, 21));
  const Buffer w = test::upload(device(), dtype_, {kDim}, test::pattern(kDim, 22));
  const Buffer second = empty_rows();
  const auto heads = [](const View& view) { return must(view.reshape({kRows, 1, kDim})); };
  const std::vector<Encode> operations = {
      [&](Encoder& e, const View& x, const View& y) {
        return ops::rms_norm(e, {.x = x, .weight = w, .y = y});
      },
      [&](Encoder& e, const View& x, const View& y) {
        return ops::rms_norm_mul(e, {.x = x, .weight = w, .scale = other, .y = y});
      },
      [&](Encoder& e, const View& x, const View& y) {
        return ops::residual_rms_norm(
            e, {.x = x, .residual = other, .weight = w, .sum = second, .y = y});
      },
      [&](Encoder& e, const View& x, const View& y) {
        return ops::rms_norm_backward(e, {.x = x, .weight = w, .dy = other, .dx = y});
      },
      [&](Encoder& e, const View& x, const View& y) {
        return ops::fused_head_norm_rope(e, {.x = heads(x), .weight = w, .y = heads(y)});
      },
      [&](Encoder& e, const View& x, const View& y) {
        return ops::fused_head_norm_rope_backward(
            e, {.x = heads(x), .weight = w, .dy = heads(other), .dx = heads(y)});
      },
      [&](Encoder& e, const View& x, const View& y) {
        return ops::rope_backward(e, {.dy = heads(x), .dx = heads(y)});
      },
  };
  const auto first_row = [&](const Encode& encode, const std::vector<float>& x) {
    const Buffer y = empty_rows();
    test::run(device(), [&](Encoder& e) { return encode(e, rows(x), y); });
    return test::download_bytes(must(View(y).slice(0, kOrdinary, kOrdinary + 1)));
  };
  for (size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(first_row(operations[i], special_rows()),
              first_row(operations[i], test::pattern(kRows * kDim, 11)))
        << "operation " << i;
  }
}

// Kernels may divide by weights, but not by all.
TEST_P(SpecialValues, WeightsOfAnySizeLeaveTheirOwnGradientsAlone) {
  for (const int64_t dim : {64, 96, 128, 256}) {
    SCOPED_TRACE(dim);
    const Shape shape = {5, 3, dim};
    const auto heads = [&](uint32_t seed) {
      return test::upload(device(), dtype_, shape, test::pattern(15 * dim, seed));
    };
    const Buffer x = heads(31), dy = heads(32);
    const auto gradients = [&](const std::vector<float>& weights) {
      const Buffer w = test::upload(device(), DType::f32, {dim}, weights);
      const Buffer dx = heads(33), dw = must(device().empty(DType::f32, {dim}));
      test::run(device(), [&](Encoder& e) {
        return ops::fused_head_norm_rope_backward(
            e, {.x = x, .weight = w, .dy = dy, .dx = dx, .dw = dw});
      });
      return test::download(dw);
    };
    const size_t size = static_cast<size_t>(dim);
    const std::vector<float> expected = gradients(std::vector<float>(size, 1.0f));
    for (const float special : {0.0f, -0.0f, 0x1p-140f, 0.37f, kInf}) {
      std::vector<float> weights(size, 1.5f);
      weights[kAt % size] = weights[0] = special;
      const std::vector<float> got = gradients(weights);
      for (size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(got[i], expected[i], 1e-4f) << special << " at " << i;
      }
    }
  }
}

// dw has no factor w: weights are no reason for it to leave the range of floats, on either side.
TEST_P(SpecialValues, GradientsMayBeAsLargeOrSmallAsFloats) {
  constexpr float kWeights[] = {0x1p-10f, 0.1f, 1000.0f, -60.0f, 0x1p10f, 1.0f, -0x1p-9f};
  const bool f16 = dtype_ == DType::f16;
  for (const int64_t dim : {64, 96, 128, 256}) {
    const Shape shape = {20, 3, dim};
    const auto signs = [&](uint32_t seed, float magnitude) {
      std::vector<float> values = test::pattern(60 * dim, seed);
      for (float& value : values) value = std::copysign(magnitude, value);
      return test::upload(device(), dtype_, shape, values);
    };
    Buffer x = signs(31, 1.0f);
    const auto gradients = [&](const std::vector<float>& weights, float magnitude, bool in_place) {
      const Buffer w = test::upload(device(), DType::f32, {dim}, weights);
      const Buffer dy = signs(32, magnitude), dw = must(device().empty(DType::f32, {dim}));
      const Buffer dx = in_place ? dy : signs(33, 1.0f);
      test::run(device(), [&](Encoder& e) {
        return ops::fused_head_norm_rope_backward(
            e, {.x = x, .weight = w, .dy = dy, .dx = dx, .dw = dw, .eps = 0});
      });
      return test::download(dw);
    };
    std::vector<float> weights(static_cast<size_t>(dim), 1.0f);
    const std::vector<float> expected = gradients(weights, 1.0f, false);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = kWeights[i % std::size(kWeights)];
    for (const float magnitude : {f16 ? 0x1p15f : 0x1p120f, f16 ? 0x1p-24f : 0x1p-126f}) {
      for (const bool in_place : {false, true}) {
        const std::vector<float> got = gradients(weights, magnitude, in_place);
        for (size_t i = 0; i < weights.size(); ++i) {  // up to 60 * sqrt(2) are added up
          ASSERT_NEAR(got[i] / magnitude, expected[i], 85 * 0x1p-21f)
              << magnitude << " dim " << dim << " at " << i << (in_place ? " in place" : "");
        }
      }
    }
    // Products that lost bits may be enlarged by x again.
    if (f16) continue;
    constexpr float kLarge = 0x1p58f, kSmall = 0x1p-70f;
    x = signs(31, kLarge);
    std::ranges::fill(weights, 0x1p-10f);
    const std::vector<float> got = gradients(weights, kSmall, false);
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(got[i] / kSmall, expected[i], 85 * 0x1p-18f) << "large x, dim " << dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, SpecialValues,
                         testing::Combine(testing::ValuesIn(test::tested_devices()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());
INSTANTIATE_TEST_SUITE_P(EveryPasses, SpecialValues,
                         testing::Combine(testing::ValuesIn(test::tested_passes()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
