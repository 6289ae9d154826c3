// SPDX-License-Identifier: MIT
// How many threads share a row, and that a row's sum does not depend on it.
#include "ops/row_plan.hpp"

#include <gtest/gtest.h>

#include "host_values.hpp"
#include "norite/dlpack.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using ops::RowPacks;
using ops::RowPlan;
using test::must;

constexpr RowPacks kPacks = {.width = 8, .shifted = false},
                   kShifted = {.width = 8, .shifted = true};

RowPlan bf16_rows(int64_t dim) { return ops::plan_rows(dim, kPacks, {.vectors = 4, .group = 256}); }

TEST(RowPlan, FewRowsHaveMoreThreadsEach) {
  const RowPlan many = ops::spread_rows(bf16_rows(2048), 4096);
  EXPECT_EQ(many.threads, 64);
  EXPECT_EQ(many.rows, 4);
  const RowPlan few = ops::spread_rows(bf16_rows(2048), 1);
  EXPECT_EQ(few.threads, 128);
  EXPECT_EQ(few.vectors, 2);
  EXPECT_EQ(few.rows, 1);
}

TEST(RowPlan, RowsThatDoNotFoldKeepTheirThreads) {
  const RowPlan odd = ops::plan_rows(2816, kPacks, {.vectors = 4, .stretch = 6, .group = 256});
  ASSERT_EQ(odd.vectors, 6);
  EXPECT_EQ(ops::spread_rows(odd, 1).threads, odd.threads);
  const RowPlan looped = ops::plan_rows(65536, kPacks, {.vectors = 4, .threads = 512});
  ASSERT_TRUE(looped.looped);
  EXPECT_EQ(ops::spread_rows(looped, 1).threads, looped.threads);
}

TEST(RowPlan, RowsThatDoNotBeginWithPacksMoveElementsUpToALength) {
  const auto packs = [](int64_t dim, bool aligned) {
    return ops::row_packs(dim, DType::bf16, aligned, 1000);
  };
  EXPECT_EQ(packs(1000, true).width, 8);
  EXPECT_FALSE(packs(1000, true).shifted);
  EXPECT_EQ(packs(1000, false).width, 1);
  EXPECT_EQ(packs(999, true).width, 1);
  EXPECT_EQ(packs(1001, true).width, 8);
  EXPECT_TRUE(packs(1001, true).shifted);
  EXPECT_TRUE(packs(2048, false).shifted);
}

TEST(RowPlan, ShiftedRowsHaveASimdGroupAndRoomForOnePackMore) {
  const ops::RowLimits limits = {.vectors = 8, .group = 128};
  EXPECT_EQ(ops::plan_rows(20, kShifted, limits).threads, 32);
  EXPECT_EQ(ops::plan_rows(2041, kShifted, limits).threads, 32);
  EXPECT_EQ(ops::plan_rows(2042, kShifted, limits).threads, 64);
  const RowPlan one = ops::plan_rows(2048, kShifted, limits);
  EXPECT_EQ(ops::spread_rows(one, 1).threads, one.threads);
}

TEST(RowPlan, GroupsShareFewRowsEvenly) {
  EXPECT_EQ(ops::groups_per_row(1, 8, 32), 8);
  EXPECT_EQ(ops::groups_per_row(8, 8, 32), 4);
  EXPECT_EQ(ops::groups_per_row(3, 8, 32), 8);
  EXPECT_EQ(ops::groups_per_row(8, 6, 32), 3) << "two packs each, and none left without";
  EXPECT_EQ(ops::groups_per_row(1, 12, 132), 6);
  EXPECT_EQ(ops::groups_per_row(17, 8, 32), 1);
  EXPECT_EQ(ops::groups_per_row(1, 1, 32), 1);
}

/// GROUPS_PER_ROW of the kernel that an operation on a row asks for.
template <class Encode>
std::string groups_of_row(const Encode& encode) {
  const Device device = must(Device::open("null", {.builtins = BuiltinForm::text}));
  const auto row = [&] { return must(device.empty(DType::f32, {1, 4096})); };
  Encoder encoder = device.encoder();
  must(encode(encoder, row(), row(), row()));
  return device.registry().requested().at(0).specialisation.at("GROUPS_PER_ROW");
}

// A group would read what another has written already.
TEST(RowPlan, RowsInPlaceHaveOneGroup) {
  EXPECT_EQ(groups_of_row([](Encoder& e, const Buffer& x, const Buffer& y, const Buffer&) {
              return ops::rms_norm(e, {.x = x, .y = y});
            }),
            "4");
  EXPECT_EQ(groups_of_row([](Encoder& e, const Buffer& x, const Buffer&, const Buffer&) {
              return ops::rms_norm(e, {.x = x, .y = x});
            }),
            "1");
  EXPECT_EQ(groups_of_row([](Encoder& e, const Buffer& x, const Buffer& y, const Buffer& scale) {
              return ops::rms_norm_mul(e, {.x = x, .scale = scale, .y = y});
            }),
            "4");
  EXPECT_EQ(groups_of_row([](Encoder& e, const Buffer& x, const Buffer&, const Buffer& scale) {
              return ops::rms_norm_mul(e, {.x = x, .scale = scale, .y = scale});
            }),
            "4");
  EXPECT_EQ(groups_of_row([](Encoder& e, const Buffer& x, const Buffer& y, const Buffer& sum) {
              return ops::residual_rms_norm(e, {.x = x, .residual = sum, .sum = sum, .y = y});
            }),
            "1");
}

// To Norite these are two buffers.
TEST(RowPlan, RowsWrittenUnderAnotherBufferHaveOneGroup) {
  const Device device = must(Device::open("cpu", {.builtins = BuiltinForm::text}));
  const Buffer x = must(device.empty(DType::f32, {1, 4096}));
  const View again = must(from_dlpack(device, must(to_dlpack(x))));
  Encoder encoder = device.encoder();
  must(ops::rms_norm(encoder, {.x = x, .y = again}));
  EXPECT_EQ(device.registry().requested().at(0).specialisation.at("GROUPS_PER_ROW"), "1");
}

/// Whether a norm of so many rows is compiled for tensors that are larger than caches.
bool reads_stay(const Device& device, int64_t rows) {
  const Buffer x = must(device.empty(DType::f32, {rows, 4096}));
  Encoder encoder = device.encoder();
  must(ops::rms_norm(encoder, {.x = x, .y = must(device.empty(DType::f32, {rows, 4096}))}));
  return device.registry().requested().at(0).specialisation.contains("READS_STAY");
}

TEST(RowPlan, ReadsOfLargeTensorsStayInTheCachesOfNvidiaGpus) {
  const auto open = [](const char* id) {
    return must(Device::open(id, {.builtins = BuiltinForm::text}));
  };
  EXPECT_TRUE(reads_stay(open("null"), 4096)) << "128 MiB";
  EXPECT_FALSE(reads_stay(open("null"), 4095));
  EXPECT_FALSE(reads_stay(open("cpu"), 4096)) << "whose compiler knows no such reads";
}

class FewAndManyRows : public test::OnDevice<std::tuple<std::string, DType>> {};

TEST_P(FewAndManyRows, GiveTheSameBits) {
  const DType dtype = std::get<DType>(GetParam());
  std::vector<int64_t> dims = {64, 1024, 2000, 2048};
  if (on_gpu()) dims.insert(dims.end(), {4096, 5120, 6144, 7168, 8192, 13000, 16384, 24576, 65536});
  for (const int64_t dim : dims) {
    const int64_t rows = 1100;  // of 32 threads, too many to be few
    const auto values = test::pattern(8 * dim, 3);
    const Buffer x = test::upload_repeated(device(), dtype, {rows, dim}, values);
    const Buffer w = test::upload(device(), dtype, {dim}, test::pattern(dim, 4));
    const Buffer y = must(device().empty(dtype, {rows, dim}));
    const auto run = [&](const View& from, const View& to) {
      test::run(device(),
                [&](Encoder& e) { return ops::rms_norm(e, {.x = from, .weight = w, .y = to}); });
    };
    run(x, y);
    // Of so many, a row has as many groups as it has packs to write, some, and one.
    for (const int64_t few : {1, 8, 40}) {
      SCOPED_TRACE(std::to_string(few) + " rows of " + std::to_string(dim));
      const Buffer alone = must(device().empty(dtype, {few, dim}));
      const auto some_of = [&](const Buffer& all) { return must(View(all).slice(0, 5, 5 + few)); };
      run(some_of(x), alone);
      EXPECT_TRUE(test::same_bytes(alone, some_of(y)));
    }
  }
}

class RowsWithAResidual : public FewAndManyRows {};

TEST_P(RowsWithAResidual, GiveTheBitsOfAnAdditionAndANorm) {
  const DType dtype = std::get<DType>(GetParam());
  using Rows = std::pair<int64_t, int64_t>;
  std::vector<Rows> all = {{300, 1001}, {300, 1536}, {300, 2048}, {100, 2816}, {100, 3584},
                           {300, 4096}, {100, 4097}, {30, 5376},  {30, 6656},  {16, 8192},
                           {30, 9216},  {70, 16384}, {3, 20001}};
  if (on_gpu()) {  // few of them, in threadgroup memory, or shared by groups
    all.insert(all.end(), {{300, 65},
                           {16, 2048},
                           {16, 12288},
                           {70, 13000},
                           {3, 13000},
                           {3, 16384},
                           {3, 40000},
                           {3, 50000},
                           {3, 100003},
                           {3, 140000},
                           {3, 152064},
                           {3, 250001},
                           {3, 600000}});
  }
  for (const auto& [rows, dim] : all) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(dim));
    const Buffer x = test::upload(device(), dtype, {rows, dim}, test::pattern(rows * dim, 5));
    const Buffer residual =
        test::upload(device(), dtype, {rows, dim}, test::pattern(rows * dim, 6));
    const auto empty = [&] { return must(device().empty(dtype, {rows, dim})); };
    const auto per_row = [&] { return must(device().empty(DType::f32, {rows})); };
    const Buffer sum = empty(), fused = empty(), other = empty();
    const Buffer fused_inv = per_row(), other_inv = per_row();
    test::run(device(), [&](Encoder& e) {
      return ops::residual_rms_norm(
          e, {.x = x, .residual = residual, .sum = sum, .y = fused, .rms_inv = fused_inv});
    });
    test::run(device(), [&](Encoder& e) {
      return ops::rms_norm(e, {.x = sum, .y = other, .rms_inv = other_inv});
    });
    EXPECT_TRUE(test::same_bytes(fused, other) && test::same_bytes(fused_inv, other_inv));
  }
}

INSTANTIATE_TEST_SUITE_P(Text, RowsWithAResidual,
                         testing::Combine(testing::Values(test::kText, test::kCuda),
                                          testing::Values(DType::f32, DType::bf16)),
                         test::InstanceName());

INSTANTIATE_TEST_SUITE_P(Text, FewAndManyRows,
                         testing::Combine(testing::Values(test::kText, test::kCuda),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
