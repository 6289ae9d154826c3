// SPDX-License-Identifier: MIT
// Rows that several groups of a GPU share and wait for each other on, and more of them than groups
// at once: right, the same bits every time, and beside another stream. Skipped without a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

#include "cases/norm.hpp"
#include "ops/repeats.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using cases::NormBackwardSpec;
using cases::NormSpec;
using test::must;
using test::Repeats;
using test::RowOperands;
using test::RowOperation;

struct RowsOfDim {
  int64_t rows, dim;
};

void expect_right(Result<cases::ProblemPtr> made) {
  const auto problem = must(std::move(made));
  must(problem->run());
  const cases::Outcome outcome = must(problem->check());
  EXPECT_TRUE(outcome.passed()) << outcome.worst().detail;
}

/// Those whose rows may be of any length.
std::vector<RowOperation> operations() {
  std::vector<RowOperation> rows = test::row_operations();
  std::erase_if(rows, [](const RowOperation& one) { return one.heads > 0; });
  return rows;
}

class LongRows : public test::OnDevice<std::tuple<std::string, DType>> {
 protected:
  static DType dtype() { return std::get<DType>(GetParam()); }
};

TEST_P(LongRows, ManyOfThemMatchFloat64) {
  constexpr RowsOfDim kShapes[] = {{700, 12288}, {300, 20001}, {300, 24001}, {300, 40000},
                                   {60, 69704},  {60, 100003}, {60, 100008}, {60, 131001},
                                   {60, 140000}, {60, 163840}, {40, 250001}, {40, 262143},
                                   {40, 262144}, {20, 300001}, {9, 337917},  {3, 1200000}};
  for (const auto& [rows, dim] : kShapes) {
    const Shape shape = {test::as_many_on(device(), rows, std::max<int64_t>(3, rows / 20)), dim};
    SCOPED_TRACE(cases::describe_rows(shape));
    const NormSpec spec{.dtype = dtype(), .shape = shape, .rms_inv = true};
    expect_right(cases::make_rms_norm(spec, device(), {.seed = "rms_norm"}));
    expect_right(cases::make_rms_norm_mul(spec, device(), {.seed = "rms_norm_mul"}));
    expect_right(cases::make_residual_rms_norm(spec, device(), {.seed = "residual_rms_norm"}));
    expect_right(
        cases::make_rms_norm_backward({.dtype = dtype(), .shape = shape, .dresidual = true},
                                      device(), {.seed = "rms_norm_backward"}));
  }
}

// Sums take the place of x, and groups of a row read what lies behind their part of it.
TEST_P(LongRows, ManyOfThemInPlaceMatchFloat64) {
  constexpr RowsOfDim kShapes[] = {
      {300, 20001}, {300, 24001}, {60, 131072}, {20, 262143}, {3, 1200000}};
  for (const auto& [rows, dim] : kShapes) {
    const Shape shape = {test::as_many_on(device(), rows, std::max<int64_t>(3, rows / 20)), dim};
    SCOPED_TRACE(cases::describe_rows(shape));
    const NormSpec spec{.dtype = dtype(), .shape = shape, .in_place = true};
    expect_right(cases::make_rms_norm(spec, device(), {.seed = "rms_norm"}));
    expect_right(cases::make_residual_rms_norm(spec, device(), {.seed = "residual_rms_norm"}));
  }
}

// Operands of 128 MiB together are read in a way of their own (kernels/cuda/staying_reads.h).
TEST_P(LongRows, LargeTensorsMatchFloat64) {
  const int64_t count = (int64_t{64} << 20) / size_of(dtype());
  for (const int64_t dim : {2048, 16384, 65536}) {
    const Shape shape = {count / dim, dim};
    SCOPED_TRACE(cases::describe_rows(shape));
    const NormSpec spec{.dtype = dtype(), .shape = shape};
    expect_right(cases::make_rms_norm(spec, device(), {.seed = "rms_norm"}));
    expect_right(cases::make_rms_norm_backward({.dtype = dtype(), .shape = shape}, device(),
                                               {.seed = "rms_norm_backward"}));
  }
}

TEST_P(LongRows, RepeatAThousandTimesBitForBit) {
  const auto repeats = static_cast<int>(test::as_many_on(device(), 1000, 10));
  for (const int64_t dim : {12288, 20001, 24001, 65536, 100003, 131072, 152064, 262144}) {
    const int64_t rows = test::as_many_on(device(), 300, std::max<int64_t>(6, 200000 / dim));
    const auto inputs = RowOperands::make(device(), dtype(), {rows, dim});
    for (const RowOperation& operation : operations()) {
      SCOPED_TRACE(std::string(operation.name) + " dim " + std::to_string(dim));
      EXPECT_EQ(Repeats(device(), operation, inputs).run(repeats), 0U);
    }
  }
}

// Groups of two kernels at once must not wait for each other's places on the GPU.
TEST_P(LongRows, TwoStreamsAtOnceGiveTheBitsOfOne) {
  ::alarm(300);  // a kernel that waits for ever cannot be called back: the process ends
  const Device second_device = must(Device::open(test::kCuda));
  const auto inputs =
      RowOperands::make(device(), dtype(), {test::as_many_on(device(), 300, 10), 20001});
  const auto second_inputs =
      RowOperands::make(second_device, dtype(), {test::as_many_on(device(), 100, 6), 65536});
  const auto repeats = static_cast<int>(test::as_many_on(device(), 500, 10));
  const auto all = operations();
  for (size_t i = 0; i < all.size(); ++i) {
    const RowOperation& beside = all[(i + 1) % all.size()];
    SCOPED_TRACE(std::string(all[i].name) + " and " + beside.name);
    Repeats first(device(), all[i], inputs);
    Repeats second(second_device, beside, second_inputs);
    auto in_first = std::async(std::launch::async, [&] { return first.run(repeats); });
    EXPECT_EQ(second.run(repeats), 0U);
    EXPECT_EQ(in_first.get(), 0U);
  }
  ::alarm(0);
}

INSTANTIATE_TEST_SUITE_P(Gpu, LongRows,
                         testing::Combine(testing::Values(test::kCuda),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

class VeryManyLongRows : public test::OnDevice<std::string> {};

TEST_P(VeryManyLongRows, Beyond2To31ElementsMatchFloat64) {
  constexpr int64_t kNeededBytes = int64_t{16} << 30;
  if (device().info().memory_bytes < kNeededBytes) GTEST_SKIP() << "needs 16 GiB of memory";
  const Shape shape = {8193, 262144};
  expect_right(cases::make_rms_norm({.dtype = DType::bf16, .shape = shape, .in_place = true},
                                    device(), {.seed = "rms_norm"}));
  expect_right(cases::make_rms_norm_backward({.dtype = DType::bf16,
                                              .shape = shape,
                                              .dw = false,
                                              .in_place = NormBackwardSpec::InPlace::dy},
                                             device(), {.seed = "rms_norm_backward"}));
}

INSTANTIATE_TEST_SUITE_P(Gpu, VeryManyLongRows, testing::Values(test::kCuda), test::InstanceName());

}  // namespace
}  // namespace norite
