// SPDX-License-Identifier: MIT
// Norms go over memory in one of two ways, which depends on the processor. The bits do not.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/pipeline.hpp"
#include "host_values.hpp"
#include "ops/row_operations.hpp"
#include "ops/tested_device.hpp"
#include "scoped_env.hpp"

namespace norite {
namespace {

using test::must;
using test::RowOperands;
using test::RowOperation;

Result<void> backward_of_all(Encoder& e, const RowOperands& on, int64_t) {
  NORITE_TRY(ops::rms_norm_compute_rms_inv(e, {.x = on.x, .rms_inv = on.per_row}));
  return ops::rms_norm_backward(e, {.x = on.x,
                                    .weight = on.weight,
                                    .dy = on.other,
                                    .rms_inv = on.per_row,
                                    .dresidual = on.x,
                                    .dx = on.y,
                                    .dw = on.sums});
}

Result<void> backward_of_weight(Encoder& e, const RowOperands& on, int64_t) {
  NORITE_TRY(ops::rms_norm_compute_rms_inv(e, {.x = on.x, .rms_inv = on.per_row}));
  return ops::rms_norm_backward_dw(
      e, {.x = on.x, .dy = on.other, .rms_inv = on.per_row, .dw = on.sums});
}

std::vector<RowOperation> norms() {
  std::vector<RowOperation> norms = {{"backward of all", 0, backward_of_all},
                                     {"backward of the weight", 0, backward_of_weight}};
  for (const RowOperation& operation : test::row_operations()) {
    const std::string_view name = operation.name;
    if (operation.heads == 0 && name.find("rms_norm") != name.npos) norms.push_back(operation);
  }
  return norms;
}

/// The first columns of each row.
RowOperands with_gaps(const RowOperands& wide, int64_t dim) {
  const auto part = [&](const View& view) { return must(view.slice(-1, 0, dim)); };
  return {.x = part(wide.x),
          .weight = part(wide.weight),
          .other = part(wide.other),
          .y = part(wide.y),
          .second = part(wide.second),
          .per_row = wide.per_row,
          .sums = part(wide.sums)};
}

/// What an operation writes on the device with an L1 of this size.
std::vector<std::vector<std::byte>> results(const std::string& level, int l1_kib,
                                            const RowOperation& operation, DType dtype,
                                            int64_t rows, int64_t dim, int64_t gap) {
  const Device device = must(Device::open("cpu", {.cpu_target = level, .cpu_l1_kib = l1_kib}));
  const RowOperands wide = RowOperands::make(device, dtype, {rows, dim + gap});
  const RowOperands on = with_gaps(wide, dim);
  test::run(device, [&](Encoder& e) { return operation.encode(e, on, 0); });
  std::vector<std::vector<std::byte>> bytes;
  for (const View& view : wide.outputs()) bytes.push_back(test::download_bytes(view));
  return bytes;
}

class Passes : public testing::TestWithParam<std::tuple<std::string, DType>> {};

// Rows that a pass takes several of, one of, and that share weights; more of them than are taken
// together, and long ones.
TEST_P(Passes, GiveTheSameBits) {
  const auto& [level, dtype] = GetParam();
  for (const RowOperation& operation : norms()) {
    for (const int64_t dim : {2, 30, 64, 130, 256, 1000, 2048, 4096, 5001, 8200}) {
      for (const int64_t gap : {0, 3}) {
        SCOPED_TRACE(std::string(operation.name) + " dim " + std::to_string(dim));
        const int64_t rows = dim < 1000 ? 83 : 23;
        const auto joined = results(level, 32, operation, dtype, rows, dim, gap);
        EXPECT_EQ(results(level, 48, operation, dtype, rows, dim, gap), joined) << "gap " << gap;
      }
    }
  }
}

using Function = Result<void> (*)(const NativeCall&);

/// What such a device runs as a kernel.
Function function_of(const char* kernel, const DeviceOptions& options) {
  const Device device = must(Device::open("cpu", options));
  const Pipeline pipeline = device.registry().native_pipeline(kernel);
  const Function* function = pipeline.state()->native().target<Function>();
  return function ? *function : nullptr;
}

TEST_P(Passes, AreChosenByTheL1) {
  const std::string& level = std::get<0>(GetParam());
  for (const char* kernel : {"rms_norm", "rms_norm_backward"}) {
    const auto with = [&](int l1_kib) {
      return function_of(kernel, {.cpu_target = level, .cpu_l1_kib = l1_kib});
    };
    ASSERT_NE(with(32), nullptr);
    ASSERT_NE(with(48), nullptr);
    EXPECT_NE(with(32), with(48));
    EXPECT_EQ(with(32), with(47));
    EXPECT_EQ(with(48), with(80));
    for (const char* kib : {"32", "48"}) {
      const test::ScopedEnv l1("NORITE_CPU_L1_KIB", kib);
      EXPECT_EQ(with(0), with(std::stoi(kib)));
      EXPECT_NE(with(32), with(48)) << "the option goes first";
    }
  }
}

/// Levels that have both; the others would be compared with themselves.
std::vector<std::string> levels_with_both() {
  std::vector<std::string> levels = test::compared_levels();
  std::erase_if(levels, [](const std::string& level) { return !level.starts_with("AVX3"); });
  return levels;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Passes);  // without AVX-512

INSTANTIATE_TEST_SUITE_P(EveryLevel, Passes,
                         testing::Combine(testing::ValuesIn(levels_with_both()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
