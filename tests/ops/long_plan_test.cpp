// SPDX-License-Identifier: MIT
// Which rows groups of a GPU share, and in tiles of which shape: recorded on the null device, which
// has the limits of a large GPU.
#include "ops/norm/long_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "norite/norite.hpp"
#include "ops/norm/rms_norm_plan.hpp"
#include "support.hpp"

namespace norite {
namespace {

using ops::LongPlan;
using ops::LongRowsLayout;
using ops::TileShape;
using test::must;

constexpr std::array<TileShape, 3> kShapes = {{{64, 6, 6}, {64, 4, 8}, {256, 4, 2}}};

LongRowsLayout bf16_rows(int64_t dim, int64_t memory = 227 << 10) {
  return {.dim = dim,
          .width = 8,
          .stages = 6,
          .space = {.units = 132, .memory = memory},
          .shifted = false,
          .apart = false,
          .alike = true};
}

std::optional<LongPlan> plan(const LongRowsLayout& rows) { return plan_long({}, rows, kShapes); }

TEST(LongPlan, TilesFitTheRow) {
  EXPECT_EQ(plan(bf16_rows(12288))->tile.vectors, 6);
  EXPECT_EQ(plan(bf16_rows(12288))->tiles, 4);
  EXPECT_EQ(plan(bf16_rows(16384))->tile.vectors, 4);
  EXPECT_EQ(plan(bf16_rows(16384))->tiles, 8);
}

TEST(LongPlan, TheLongestRowsHaveTheLargestTiles) {
  EXPECT_EQ(plan(bf16_rows(262144))->tile.threads, 256);
  EXPECT_EQ(plan(bf16_rows(int64_t{1} << 21))->tile.threads, 256);
  EXPECT_FALSE(plan(bf16_rows(int64_t{1} << 24))) << "more groups than run at once";
}

TEST(LongPlan, AGroupHasNoMoreMemoryThanTheDevice) {
  const auto small = plan(bf16_rows(262144, 40 << 10));
  EXPECT_EQ(small->tile.vectors, 6);
  EXPECT_LE(small->group_memory, 40 << 10);
  EXPECT_FALSE(plan(bf16_rows(262144, 16 << 10)));
}

// Those that keep most of an H200 busy may have more groups than a smaller GPU runs at once.
TEST(LongPlan, OtherGpusHaveTilesThatTheyCanRun) {
  constexpr std::array<TileShape, 2> kNarrowShifted = {{{128, 5, 4}, {256, 4, 2}}};
  const auto tile_on = [&](int64_t units, int64_t memory, int64_t dim) {
    LongRowsLayout rows = bf16_rows(dim);
    rows.stages = 4;
    rows.shifted = true;
    rows.space = {.units = units, .memory = memory};
    const auto found = plan_long({}, rows, kNarrowShifted);
    return found ? found->tile.threads : 0;
  };
  EXPECT_EQ(tile_on(132, 227 << 10, 250001), 256);
  EXPECT_EQ(tile_on(114, 227 << 10, 250001), 128);
  EXPECT_EQ(tile_on(82, 99 << 10, 85001), 128);
  EXPECT_EQ(tile_on(42, 163 << 10, 80001), 256);
  EXPECT_EQ(tile_on(8, 99 << 10, 250001), 0);
}

// With more tiles than lanes, a lane would ask for its second sum after the first answer alone.
TEST(LongPlan, ALaneAsksForTheSumsOfTwoTilesAtOnce) {
  constexpr std::array<TileShape, 1> kShape = {{{64, 6, 6}}};
  const auto sums_per_lane = [&](int64_t tiles) {
    const auto found = plan_long({}, bf16_rows(tiles * 64 * 6 * 8), kShape);
    EXPECT_EQ(found->tiles, tiles);
    return found->plan.key.macros.specialisation().at("SUMS_PER_LANE");
  };
  EXPECT_EQ(sums_per_lane(32), "1");
  EXPECT_EQ(sums_per_lane(33), "2");
}

TEST(LongPlan, RowsThatBeginAnywhereTakeMore) {
  constexpr std::array<TileShape, 1> kShape = {{{64, 6, 6}}};
  LongRowsLayout rows = bf16_rows(12288);
  const auto aligned = plan_long({}, rows, kShape);
  EXPECT_EQ(aligned->group_memory, 2 * 3 * (64 * 6) * 16);
  EXPECT_EQ(aligned->tiles, 4);
  EXPECT_EQ(aligned->together, 1);
  rows.shifted = true;
  const auto shifted = plan_long({}, rows, kShape);
  EXPECT_EQ(shifted->group_memory, 2 * 3 * (64 * 6 + 2) * 16);
  EXPECT_EQ(shifted->tiles, 5);     // the last pack may be one further
  EXPECT_EQ(shifted->together, 8);  // rows at once are whole packs apart
}

using Names = std::vector<std::string>;

/// The kernels that operations ask for.
template <class Encode>
std::vector<KernelId> kernel_ids_of(const Encode& encode) {
  const Device device = must(Device::open("null", {.builtins = BuiltinForm::text}));
  Encoder encoder = device.encoder();
  must(encode(device, encoder));
  must(encoder.submit_and_wait());
  return device.registry().requested();
}

template <class Encode>
Names kernels_of(const Encode& encode) {
  Names names;
  for (const KernelId& id : kernel_ids_of(encode)) names.push_back(id.name);
  std::ranges::sort(names);
  return names;
}

Names backward_kernels(DType dtype, int64_t dim) {
  return kernels_of([&](const Device& device, Encoder& encoder) {
    const auto rows = [&] { return must(device.empty(dtype, {3, dim})); };
    const Buffer x = rows(), dy = rows(), dx = rows(), w = must(device.empty(dtype, {dim}));
    const Buffer dw = must(device.empty(DType::f32, {dim}));
    return ops::rms_norm_backward(encoder, {.x = x, .weight = w, .dy = dy, .dx = dx, .dw = dw});
  });
}

Names forward_kernels(DType dtype, int64_t rows, int64_t dim) {
  return kernels_of([&](const Device& device, Encoder& encoder) {
    const Buffer x = must(device.empty(dtype, {rows, dim})),
                 y = must(device.empty(dtype, {rows, dim}));
    return ops::rms_norm(encoder, {.x = x, .y = y});
  });
}

TEST(LongPlan, GroupsShareWhatOneCannotHold) {
  const Names shared = {"rms_norm_backward_long", "sum_partials"};
  const Names staged = {"rms_norm_backward_staged", "sum_partials"};
  const Names alone = {"rms_norm_backward", "sum_partials"};
  EXPECT_EQ(backward_kernels(DType::f32, 5120), alone);
  EXPECT_EQ(backward_kernels(DType::f32, 12288), shared);
  EXPECT_EQ(backward_kernels(DType::bf16, 256), alone);
  EXPECT_EQ(backward_kernels(DType::bf16, 264), staged);
  EXPECT_EQ(backward_kernels(DType::bf16, 2816), staged);
  EXPECT_EQ(backward_kernels(DType::f16, 16384), staged);
  EXPECT_EQ(backward_kernels(DType::bf16, 20001), shared);
  EXPECT_EQ(backward_kernels(DType::bf16, 32768), shared);
}

TEST(LongPlan, AGroupGoesDownRowsThatBeginAlike) {
  const auto kernels = [](int64_t dim) {
    return kernels_of([&](const Device& device, Encoder& encoder) {
      // Every third row is left out: they do not lie evenly.
      const auto rows = [&] {
        return must(View(must(device.empty(DType::bf16, {4, 3, dim}))).slice(1, 0, 2));
      };
      return ops::rms_norm_backward(encoder, {.x = rows(), .dy = rows(), .dx = rows()});
    });
  };
  EXPECT_EQ(kernels(20001), Names{"rms_norm_backward"});
  EXPECT_EQ(kernels(32768), Names{"rms_norm_backward_long"});
}

TEST(LongPlan, RowsThatRegistersHoldBadlyAreStaged) {
  EXPECT_EQ(forward_kernels(DType::f32, 1000, 8192), Names{"rms_norm"});
  EXPECT_EQ(forward_kernels(DType::f32, 1000, 12288), Names{"rms_norm_staged"});
  EXPECT_EQ(forward_kernels(DType::bf16, 1000, 12288), Names{"rms_norm"});
  EXPECT_EQ(forward_kernels(DType::bf16, 1000, 16384), Names{"rms_norm_staged"});
  EXPECT_EQ(forward_kernels(DType::f32, 1000, 49152), Names{"rms_norm_staged"});
  EXPECT_EQ(forward_kernels(DType::bf16, 1, 98304), Names{"rms_norm_staged"});
  EXPECT_EQ(forward_kernels(DType::f32, 1000, 49156), Names{"rms_norm_long"});
}

TEST(LongPlan, LargeTilesThatCannotRunLeaveRowsToSmallerOnes) {
  EXPECT_EQ(forward_kernels(DType::bf16, 100, 300001), Names{"rms_norm_long"});
  EXPECT_EQ(forward_kernels(DType::f32, 100, 300001), Names{"rms_norm_long"});
}

TEST(LongPlan, FewRowsInPlaceStayInRegistersWhereTheyHaveTheSameBits) {
  const auto in_place = [](DType dtype, int64_t dim) {
    return kernels_of([&](const Device& device, Encoder& encoder) {
      const Buffer x = must(device.empty(dtype, {1, dim}));
      return ops::rms_norm(encoder, {.x = x, .y = x});
    });
  };
  EXPECT_EQ(in_place(DType::bf16, 16384), Names{"rms_norm"});
  EXPECT_EQ(in_place(DType::f32, 12288), Names{"rms_norm_staged"});
  EXPECT_EQ(forward_kernels(DType::bf16, 1, 16384), Names{"rms_norm_staged"}) << "shared";
}

// Eight packs of 256 threads have the bits of four of 512 (FewAndManyRows checks it).
TEST(LongPlan, ManyShortStagedRowsHaveSmallerGroups) {
  const auto kernel = [](int64_t rows, int64_t dim) {
    const auto ids = kernel_ids_of([&](const Device& device, Encoder& encoder) {
      const auto empty = [&] { return must(device.empty(DType::bf16, {rows, dim})); };
      return ops::rms_norm(encoder, {.x = empty(), .y = empty()});
    });
    const Specialisation& macros = ids.at(0).specialisation;
    return Names{ids.at(0).name, macros.at("THREADS_PER_ROW"), macros.at("GROUPS_PER_ROW")};
  };
  EXPECT_EQ(kernel(8, 13000), (Names{"rms_norm_staged", "512", "4"}));
  EXPECT_EQ(kernel(64, 13000), (Names{"rms_norm", "512", "1"}));
  EXPECT_EQ(kernel(66, 13000), (Names{"rms_norm_staged", "256", "1"}));
  EXPECT_EQ(kernel(66, 16384), (Names{"rms_norm_staged", "256", "1"}));
  EXPECT_EQ(kernel(66, 16392), (Names{"rms_norm_staged", "512", "1"}));
}

TEST(LongPlan, PlainRowsThatBeginAnywhereHaveATileMoreThatWaits) {
  const auto stages = [](int64_t dim, bool has_scale) {
    const auto ids = kernel_ids_of([&](const Device& device, Encoder& encoder) -> Result<void> {
      const auto rows = [&] { return must(device.empty(DType::f32, {9, dim})); };
      if (has_scale) return ops::rms_norm_mul(encoder, {.x = rows(), .scale = rows(), .y = rows()});
      return ops::rms_norm(encoder, {.x = rows(), .y = rows()});
    });
    return ids.at(0).specialisation.at("STAGES");
  };
  EXPECT_EQ(stages(100003, false), "5");
  EXPECT_EQ(stages(100003, true), "4");
  EXPECT_EQ(stages(131072, false), "4");
}

// Which have the most macros.
TEST(LongPlan, LongRowsOfLargeTensorsHaveAKernel) {
  const auto ids = kernel_ids_of([](const Device& device, Encoder& encoder) {
    const auto rows = [&] { return must(device.empty(DType::f32, {256, 65537})); };
    return ops::residual_rms_norm(encoder,
                                  {.x = rows(), .residual = rows(), .sum = rows(), .y = rows()});
  });
  EXPECT_EQ(ids.at(0).name, "rms_norm_long");
  EXPECT_TRUE(ids.at(0).specialisation.contains("READS_STAY"));
}

/// Of the only kernel that an operation asks for: what the order of a row's sums follows from.
template <class Encode>
Names tiles_of(const Encode& encode) {
  const std::vector<KernelId> ids = kernel_ids_of(encode);
  EXPECT_EQ(ids.size(), 1u);
  const KernelId& id = ids.at(0);
  const auto value = [&](const char* macro) { return id.specialisation.at(macro); };
  return {id.name, value("THREADS_PER_ROW"), value("VECTORS_PER_THREAD")};
}

TEST(LongPlan, FusedNormsHaveTheTilesOfPlainOnes) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const int64_t dim : {65536, 100003, 131071, 262143, 262144, 300001, 600000, 1048583}) {
      SCOPED_TRACE(testing::Message() << name(dtype) << ", " << dim);
      const auto tiles = [&](bool has_residual, bool has_scale) {
        return tiles_of([&](const Device& device, Encoder& encoder) -> Result<void> {
          const auto rows = [&] { return must(device.empty(dtype, {9, dim})); };
          const Buffer x = rows(), other = rows(), y = rows(), sum = rows();
          if (has_residual) {
            return ops::residual_rms_norm(encoder, {.x = x, .residual = other, .sum = sum, .y = y});
          }
          if (has_scale) return ops::rms_norm_mul(encoder, {.x = x, .scale = other, .y = y});
          return ops::rms_norm(encoder, {.x = x, .y = y});
        });
      };
      EXPECT_EQ(tiles(true, false), tiles(false, false));
      EXPECT_EQ(tiles(false, true), tiles(false, false));
    }
  }
}

// What a group keeps on its way differs with the operands; which tiles fit a GPU must not.
TEST(LongPlan, FusedNormsHaveTheTilesOfPlainOnesOnEveryGpu) {
  const Device device = must(Device::open("null"));
  constexpr std::array<ops::GroupSpace, 4> kGpus = {
      {{132, 227 << 10}, {108, 163 << 10}, {82, 99 << 10}, {40, 64 << 10}}};
  const auto tile = [](const RmsNormParams& params, const std::vector<Argument>& arguments,
                       const ops::GroupSpace& gpu) {
    const ops::RowPacks packs = ops::rms_norm_packs(params, arguments);
    auto plan = plan_rms_norm_long(params, arguments, packs, gpu, ops::Beside::staged);
    if (!plan) plan = plan_rms_norm_long(params, arguments, packs, gpu, ops::Beside::from_memory);
    return plan ? std::pair(plan->tile.threads, plan->tile.vectors) : std::pair<int64_t, int64_t>();
  };
  for (const ops::GroupSpace& gpu : kGpus) {
    bool shares_rows = false;
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const int64_t dim : {20001, 50000, 100003, 131071}) {
        SCOPED_TRACE(testing::Message() << gpu.units << " units, " << name(dtype) << ", " << dim);
        const View rows = must(device.empty(dtype, {9, dim}));
        RmsNormParams params = {};
        params.rows = {{1, 1, 9}};
        params.dim = dim;
        for (RowStrides* strides :
             {&params.x, &params.residual, &params.scale, &params.sum, &params.y}) {
          *strides = {{0, 0, dim}};
        }
        std::vector<Argument> plain(kRmsNormParams + 1);
        plain[kRmsNormX] = plain[kRmsNormY] = rows;
        std::vector<Argument> with_residual = plain, with_scale = plain;
        with_residual[kRmsNormResidual] = with_residual[kRmsNormSum] = rows;
        with_scale[kRmsNormScale] = rows;
        const auto expected = tile(params, plain, gpu);
        shares_rows = shares_rows || expected.first > 0;
        EXPECT_EQ(tile(params, with_residual, gpu), expected);
        EXPECT_EQ(tile(params, with_scale, gpu), expected);
      }
    }
    EXPECT_TRUE(shares_rows) << gpu.units << " units";
  }
}

}  // namespace
}  // namespace norite
