// SPDX-License-Identifier: MIT
// Memory that operations take for themselves holds whatever was left there: results must not.
#include <gtest/gtest.h>

#include <limits>

#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

/// Leaves NaN in the pool, in memory of every size that so many rows of partial sums may have.
void poison(const Device& device, int64_t most_rows, int64_t dim) {
  std::vector<Buffer> taken;
  const std::vector<float> nan(static_cast<size_t>(most_rows * dim),
                               std::numeric_limits<float>::quiet_NaN());
  for (int64_t rows = 1; rows <= most_rows; ++rows) {
    taken.push_back(must(device.pool().acquire(DType::f32, {rows, dim}, Fill::uninitialised)));
    must(taken.back().write(
        std::as_bytes(std::span(nan)).first(static_cast<size_t>(taken.back().size_bytes()))));
  }
}

class ScratchMemory : public test::OnDevice<std::tuple<std::string, DType>> {
 protected:
  [[nodiscard]] Buffer ones(const Shape& shape) const {
    return test::upload(device(), std::get<DType>(GetParam()), shape,
                        std::vector<float>(static_cast<size_t>(*shape.count()), 1.0f));
  }
};

// Fewer rows than begin at different places in a pack, among others: some groups have none.
TEST_P(ScratchMemory, IsWrittenBeforePartialsOfRowsAreAddedUp) {
  for (const int64_t dim : {24, 257, 4099, 24001}) {
    for (const int64_t rows : {1, 2, 3, 5, 9}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << dim);
      const Buffer x = ones({rows, dim}), dy = ones({rows, dim}), w = ones({dim});
      const Buffer dw = must(device().empty(DType::f32, {dim}));
      poison(device(), 16, dim);
      test::run(device(), [&](Encoder& e) {
        return ops::rms_norm_backward(e, {.x = x, .weight = w, .dy = dy, .dw = dw, .eps = 0});
      });
      for (const float value : test::download(dw)) {
        ASSERT_NEAR(value, static_cast<float>(rows), 1e-4f);
      }
    }
  }
}

TEST_P(ScratchMemory, IsWrittenBeforePartialsOfHeadsAreAddedUp) {
  for (const int64_t dim : {24, 64, 66, 128}) {
    for (const int64_t tokens : {1, 3, 9}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens of heads of " << dim);
      const Shape shape = {tokens, 3, dim};
      const Buffer x = ones(shape), dy = ones(shape), w = ones({dim});
      const Buffer dw = must(device().empty(DType::f32, {dim}));
      poison(device(), 32, dim);
      test::run(device(), [&](Encoder& e) {
        return ops::fused_head_norm_rope_backward(e, {.x = x, .weight = w, .dy = dy, .dw = dw});
      });
      for (const float value : test::download(dw)) {
        ASSERT_LE(std::abs(value), 3.0f * 1.5f * static_cast<float>(tokens));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, ScratchMemory,
                         testing::Combine(testing::Values("cpu", test::kText, test::kCuda),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
