// SPDX-License-Identifier: MIT
// Outputs in place of inputs: the bits that they have in memory of their own. What the case table
// has in place already is left to it, gradients of heads among it, whose bits may differ.
#include <gtest/gtest.h>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

class InPlace : public test::OnDevice<std::tuple<std::string, DType>> {
 protected:
  [[nodiscard]] Buffer values(const Shape& shape, uint32_t seed) const {
    return test::upload(device(), std::get<DType>(GetParam()), shape,
                        test::pattern(*shape.count(), seed));
  }
};

// Elsewhere than in place, several groups of a GPU have a row of the second and third.
const Shape kShapes[] = {{7, 257}, {2, 2048}, {5, 33000}};

TEST_P(InPlace, RmsNormMayOverwriteItsInput) {
  for (const Shape& shape : kShapes) {
    const Buffer x = values(shape, 1), w = values({shape.back()}, 2);
    const Buffer y = must(device().empty(x.dtype(), shape));
    const auto run = [&](const Buffer& to) {
      test::run(device(), [&](Encoder& e) {
        return ops::rms_norm(e, {.x = x, .weight = w, .y = to});
      });
    };
    run(y);
    run(x);
    EXPECT_TRUE(test::same_bytes(x, y)) << "dim " << shape.back();
  }
}

TEST_P(InPlace, RmsNormMulMayOverwriteItsScale) {
  for (const Shape& shape : kShapes) {
    const Buffer x = values(shape, 1), w = values({shape.back()}, 2), scale = values(shape, 3);
    const auto run = [&](const Buffer& y) {
      test::run(device(), [&](Encoder& e) {
        return ops::rms_norm_mul(e, {.x = x, .weight = w, .scale = scale, .y = y});
      });
    };
    const Buffer y = must(device().empty(x.dtype(), shape));
    run(y);
    run(scale);
    EXPECT_TRUE(test::same_bytes(scale, y)) << "dim " << shape.back();
  }
}

TEST_P(InPlace, ResidualRmsNormMayPutItsSumInPlaceOfX) {
  for (const Shape& shape : kShapes) {
    const Buffer x = values(shape, 1), w = values({shape.back()}, 2), residual = values(shape, 3);
    const Buffer y = must(device().empty(x.dtype(), shape));
    const Buffer other_y = must(device().empty(x.dtype(), shape));
    const Buffer sum = must(device().empty(x.dtype(), shape));
    const auto run = [&](const Buffer& to_sum, const Buffer& to_y) {
      test::run(device(), [&](Encoder& e) {
        return ops::residual_rms_norm(
            e, {.x = x, .residual = residual, .weight = w, .sum = to_sum, .y = to_y});
      });
    };
    run(sum, y);
    run(x, other_y);
    EXPECT_TRUE(test::same_bytes(x, sum)) << "dim " << shape.back();
    EXPECT_TRUE(test::same_bytes(other_y, y)) << "dim " << shape.back();
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, InPlace,
                         testing::Combine(testing::ValuesIn(test::tested_devices()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());
INSTANTIATE_TEST_SUITE_P(EveryPasses, InPlace,
                         testing::Combine(testing::ValuesIn(test::tested_passes()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());
INSTANTIATE_TEST_SUITE_P(Text, InPlace,
                         testing::Combine(testing::Values(test::kText),
                                          testing::Values(DType::bf16)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
