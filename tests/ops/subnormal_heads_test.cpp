// SPDX-License-Identifier: MIT
// Heads whose results, or the squares of whose elements, are subnormal floats: processors have
// instructions for bf16 that take these for zero, and kernels must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <span>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

constexpr float kTiny = 0x1p-70f;  // with a subnormal square

class SubnormalHeads : public test::OnDevice<std::tuple<std::string, int64_t>> {
 protected:
  /// The heads as bf16.
  [[nodiscard]] Buffer heads(const std::vector<float>& values) const {
    return test::upload(device(), DType::bf16, shape(values.size()), values);
  }
  [[nodiscard]] Buffer empty_heads(size_t elements) const {
    return must(device().empty(DType::bf16, shape(elements)));
  }
  [[nodiscard]] Shape shape(size_t elements) const {
    return {1, static_cast<int64_t>(elements) / dim_, dim_};
  }

  const int64_t dim_ = std::get<1>(GetParam());
  const size_t size_ = static_cast<size_t>(dim_);
};

TEST_P(SubnormalHeads, ResultsAreRoundedToNearestEven) {
  std::vector<float> weights;
  for (uint32_t upper = 0; upper < 0x180; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const uint32_t sign = weights.size() % 3 == 0 ? 0x80000000u : 0;
      weights.push_back(std::bit_cast<float>(sign | upper << 16 | lower));
    }
  }
  weights.resize(weights.size() / size_ * size_);
  const Buffer x = heads(std::vector<float>(size_, 1.0f));  // of which the norm is 1
  for (size_t i = 0; i < weights.size(); i += size_) {
    const std::span w = std::span(weights).subspan(i, size_);
    const Buffer weight = test::upload(device(), DType::f32, {dim_}, {w.begin(), w.end()});
    const Buffer y = empty_heads(size_);
    test::run(device(), [&](Encoder& e) {
      return ops::fused_head_norm_rope(e, {.x = x, .weight = weight, .y = y, .eps = 0.0f});
    });
    const auto got = test::download(y);
    for (size_t k = 0; k < size_; ++k) {
      ASSERT_EQ(got[k], to_float(to_bfloat16(w[k]))) << std::hexfloat << w[k];
    }
  }
}

TEST_P(SubnormalHeads, SquaresCount) {
  std::vector<float> x(3 * size_, 1.0f);  // an ordinary head, a tiny one, an ordinary one
  std::fill_n(x.begin() + dim_, dim_, kTiny);
  const Buffer y = empty_heads(x.size());
  test::run(device(), [&](Encoder& e) {
    return ops::fused_head_norm_rope(e, {.x = heads(x), .y = y, .half_rope_dim = 0, .eps = 0.0f});
  });
  for (const float value : test::download(y)) ASSERT_EQ(value, 1.0f);
  test::run(device(), [&](Encoder& e) {
    return ops::fused_head_norm_rope(e, {.x = heads(x), .y = y, .eps = 0.0f});  // position 0
  });
  for (const float value : test::download(y)) ASSERT_EQ(value, 1.0f);
}

TEST_P(SubnormalHeads, SquaresCountBackward) {
  constexpr float kX = 0x1.8p-64f;  // with a subnormal square, and an r whose square is finite
  std::vector<float> dy(size_);
  for (size_t i = 0; i < size_; ++i) dy[i] = i % 2 == 0 ? 1.0f : -1.0f;  // s is 0, dx is r * dy
  const Buffer dx = empty_heads(size_);
  test::run(device(), [&](Encoder& e) {
    const Buffer x = heads(std::vector<float>(size_, kX));
    return ops::fused_head_norm_rope_backward(e, {.x = x, .dy = heads(dy), .dx = dx, .eps = 0.0f});
  });
  const auto got = test::download(dx);
  for (size_t i = 0; i < size_; ++i) ASSERT_EQ(got[i], to_float(to_bfloat16(dy[i] / kX)));
}

TEST_P(SubnormalHeads, NeighboursOfTinyHeadsKeepTheirBits) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const Buffer weight = test::upload(device(), DType::f32, {dim_}, std::vector<float>(size_, 1.0f));
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<float> x(2 * size_), dy(2 * size_, 0.0f);  // the second head adds nothing to dw
    for (size_t i = 0; i < size_; ++i) {
      x[i] = normal(random) * std::exp(2 * normal(random));
      dy[i] = normal(random);
    }
    std::vector<std::vector<float>> dws;
    for (const float neighbour : {1.0f, kTiny}) {
      std::fill_n(x.begin() + dim_, dim_, neighbour);
      const Buffer dw = must(device().empty(DType::f32, {dim_}));
      test::run(device(), [&](Encoder& e) {
        return ops::fused_head_norm_rope_backward(
            e, {.x = heads(x), .weight = weight, .dy = heads(dy), .dw = dw, .eps = 0.0f});
      });
      dws.push_back(test::download(dw));
    }
    ASSERT_EQ(dws[0], dws[1]) << "trial " << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, SubnormalHeads,
                         testing::Combine(testing::ValuesIn(Device::cpu_targets()),
                                          testing::Values(64, 96, 128, 256)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace norite
