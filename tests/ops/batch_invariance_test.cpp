// SPDX-License-Identifier: MIT
// A row's result does not depend on its neighbours: every row alone, as a slice that starts at any
// alignment, gives the bits that it gives in the batch.
#include <gtest/gtest.h>

#include <functional>

#include "host_values.hpp"

namespace norite {
namespace {

using test::must;

struct Inputs {
  View x, weight, other, y, second, per_row;
};

struct Operation {
  const char* name;
  int64_t heads;  // 0: rows [rows, dim]; else [tokens, heads, dim]
  std::function<Result<void>(Encoder&, const Inputs&, int64_t first_row)> encode;
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"rms_norm", 0,
       [](Encoder& e, const Inputs& in, int64_t) {
         return ops::rms_norm(e,
                              {.x = in.x, .weight = in.weight, .y = in.y, .rms_inv = in.per_row});
       }},
      {"rms_norm_mul", 0,
       [](Encoder& e, const Inputs& in, int64_t) {
         return ops::rms_norm_mul(e,
                                  {.x = in.x, .weight = in.weight, .scale = in.other, .y = in.y});
       }},
      {"residual_rms_norm", 0,
       [](Encoder& e, const Inputs& in, int64_t) {
         return ops::residual_rms_norm(
             e,
             {.x = in.x, .residual = in.other, .weight = in.weight, .sum = in.second, .y = in.y});
       }},
      {"rms_norm_backward_dx", 0,
       [](Encoder& e, const Inputs& in, int64_t) {
         return ops::rms_norm_backward(
             e, {.x = in.x, .weight = in.weight, .dy = in.other, .dx = in.y});
       }},
      {"fused_head_norm_rope", 3,
       [](Encoder& e, const Inputs& in, int64_t first) {
         return ops::fused_head_norm_rope(e, {.x = in.x,
                                              .weight = in.weight,
                                              .y = in.y,
                                              .copy = in.second,
                                              .angles = {.first_position = first}});
       }},
      {"fused_head_norm_rope_backward_dx", 3,
       [](Encoder& e, const Inputs& in, int64_t first) {
         return ops::fused_head_norm_rope_backward(e, {.x = in.x,
                                                       .weight = in.weight,
                                                       .dy = in.other,
                                                       .dx = in.y,
                                                       .angles = {.first_position = first}});
       }},
      {"rope", 3,
       [](Encoder& e, const Inputs& in, int64_t first) {
         return ops::rope(e, {.x = in.x, .y = in.y, .angles = {.first_position = first}});
       }},
      {"gelu_mul", 0,
       [](Encoder& e, const Inputs& in, int64_t) {
         return ops::gelu_mul(e, {.a = in.x, .b = in.other, .y = in.y});
       }},
      {"flash_attn_train_bwd_compute_d", 0,
       [](Encoder& e, const Inputs& in, int64_t) {
         return ops::flash_attn_train_bwd_compute_d(e,
                                                    {.o = in.x, .d_o = in.other, .d = in.per_row});
       }},
  };
  return all;
}

class BatchInvariance : public testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void check(const Operation& operation, int64_t rows, int64_t dim) {
    const auto& [level, dtype] = GetParam();
    const Device device = must(Device::open("cpu", {.cpu_target = level}));
    const int64_t inner = std::max<int64_t>(operation.heads, 1);
    const Shape shape = operation.heads == 0 ? Shape{rows, dim} : Shape{rows, inner, dim};
    const auto values = [&](uint32_t seed) {
      return test::upload(device, dtype, shape, test::pattern(rows * inner * dim, seed));
    };
    Inputs batch{.x = values(1),
                 .weight = test::upload(device, dtype, {dim}, test::pattern(dim, 2)),
                 .other = values(3),
                 .y = must(device.empty(dtype, shape)),
                 .second = must(device.empty(dtype, shape)),
                 .per_row = must(device.empty(DType::f32, {rows}))};
    Inputs alone = batch;
    alone.y = must(device.empty(dtype, shape));
    alone.second = must(device.empty(dtype, shape));
    alone.per_row = must(device.empty(DType::f32, {rows}));

    test::run(device, [&](Encoder& e) { return operation.encode(e, batch, 5); });
    for (int64_t row = 0; row < rows; ++row) {
      const auto only = [&](const View& view) { return must(view.slice(0, row, row + 1)); };
      const Inputs one{.x = only(alone.x),
                       .weight = alone.weight,
                       .other = only(alone.other),
                       .y = only(alone.y),
                       .second = only(alone.second),
                       .per_row = only(alone.per_row)};
      test::run(device, [&](Encoder& e) { return operation.encode(e, one, 5 + row); });
    }
    EXPECT_EQ(test::download_bytes(batch.y), test::download_bytes(alone.y));
    EXPECT_EQ(test::download_bytes(batch.second), test::download_bytes(alone.second));
    EXPECT_EQ(test::download_bytes(batch.per_row), test::download_bytes(alone.per_row));
  }
};

TEST_P(BatchInvariance, ARowAloneGivesTheBitsItGivesInABatch) {
  for (const Operation& operation : operations()) {
    for (const int64_t dim : {2, 30, 64, 130, 1000}) {
      SCOPED_TRACE(std::string(operation.name) + " dim " + std::to_string(dim));
      check(operation, 9, dim);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, BatchInvariance,
                         testing::Combine(testing::ValuesIn(Device::cpu_targets()),
                                          testing::ValuesIn(kFloatDTypes)),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" +
                                  std::string(name(std::get<1>(one.param)));
                         });

}  // namespace
}  // namespace norite
