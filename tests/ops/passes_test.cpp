// SPDX-License-Identifier: MIT
// Norms go over memory in one of two ways, which depends on the processor. The bits do not.
#include <gtest/gtest.h>

#include <string_view>

#include "host_values.hpp"
#include "ops/row_operations.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;
using test::RowOperands;
using test::RowOperation;

/// What an operation writes on the device with an L1 of this size.
std::vector<std::vector<std::byte>> results(const std::string& level, int l1_kib,
                                            const RowOperation& operation, DType dtype,
                                            const Shape& shape) {
  const Device device = must(Device::open("cpu", {.cpu_target = level, .cpu_l1_kib = l1_kib}));
  const RowOperands on = RowOperands::make(device, dtype, shape);
  test::run(device, [&](Encoder& e) { return operation.encode(e, on, 0); });
  std::vector<std::vector<std::byte>> bytes;
  for (const View& view : on.outputs()) bytes.push_back(test::download_bytes(view));
  return bytes;
}

class Passes : public testing::TestWithParam<std::tuple<std::string, DType>> {};

// Rows that a pass takes several of, one of, and that share weights; more of them than are taken
// together, and long ones.
TEST_P(Passes, GiveTheSameBits) {
  const auto& [level, dtype] = GetParam();
  for (const RowOperation& operation : test::row_operations()) {
    if (std::string_view(operation.name).find("rms_norm") != 0) continue;
    for (const int64_t dim : {2, 30, 64, 130, 256, 1000, 2048, 4096, 5001, 8200}) {
      SCOPED_TRACE(std::string(operation.name) + " dim " + std::to_string(dim));
      const Shape shape = {dim < 1000 ? 83 : 23, dim};
      const auto joined = results(level, 32, operation, dtype, shape);
      EXPECT_EQ(results(level, 48, operation, dtype, shape), joined);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, Passes,
                         testing::Combine(testing::ValuesIn(test::compared_levels()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
