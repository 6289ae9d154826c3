// SPDX-License-Identifier: MIT
// Which rows groups of a GPU share, and in tiles of which shape: recorded on the null device, which
// has the limits of a large GPU.
#include "ops/norm/long_plan.hpp"

#include <gtest/gtest.h>

#include <array>

#include "norite/norite.hpp"
#include "support.hpp"

namespace norite {
namespace {

using ops::LongPlan;
using ops::LongRowsLayout;
using ops::TileShape;
using test::must;

constexpr std::array<TileShape, 3> kShapes = {{{64, 6, 6}, {64, 4, 8}, {256, 4, 2}}};

LongRowsLayout bf16_rows(int64_t dim, int64_t memory = 227 << 10) {
  return {
      .dim = dim, .width = 8, .staged = 2, .stages = 3, .most_memory = memory, .shifted = false};
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
  EXPECT_EQ(plan(bf16_rows(int64_t{1} << 24))->tile.threads, 256);
}

TEST(LongPlan, AGroupHasNoMoreMemoryThanTheDevice) {
  const auto small = plan(bf16_rows(262144, 40 << 10));
  EXPECT_EQ(small->tile.vectors, 6);
  EXPECT_LE(small->group_memory, 40 << 10);
  EXPECT_FALSE(plan(bf16_rows(262144, 16 << 10)));
}

TEST(LongPlan, RowsThatBeginAnywhereTakeMore) {
  LongRowsLayout rows = bf16_rows(16384);
  const int64_t aligned = plan(rows)->group_memory;
  rows.shifted = true;
  const int64_t packs = 64 * 4;
  EXPECT_EQ(aligned, 2 * 3 * packs * 16);
  EXPECT_EQ(plan(rows)->group_memory, (2 * 3 * (packs + 1) + packs + 2) * 16);
}

/// Names of the kernels that an operation asks for, twice.
std::vector<std::string> kernels_of(DType dtype, int64_t dim) {
  const Device device = must(Device::open("null", {.builtins = BuiltinForm::text}));
  const auto rows = [&] { return must(device.empty(dtype, {3, dim})); };
  const Buffer x = rows(), dy = rows(), dx = rows(), w = must(device.empty(dtype, {dim}));
  const Buffer dw = must(device.empty(DType::f32, {dim}));
  Encoder encoder = device.encoder();
  for (int i = 0; i < 2; ++i) {
    must(ops::rms_norm_backward(encoder, {.x = x, .weight = w, .dy = dy, .dx = dx, .dw = dw}));
  }
  must(encoder.submit_and_wait());
  std::vector<std::string> names;
  for (const KernelId& id : device.registry().requested()) names.push_back(id.name);
  std::ranges::sort(names);
  return names;
}

using Names = std::vector<std::string>;

TEST(LongPlan, GroupsShareWhatOneCannotHold) {
  const Names shared = {"clear_sums", "rms_norm_backward_long", "sum_partials"};
  const Names alone = {"rms_norm_backward", "sum_partials"};
  EXPECT_EQ(kernels_of(DType::bf16, 4096), alone);
  EXPECT_EQ(kernels_of(DType::bf16, 8192), alone);
  EXPECT_EQ(kernels_of(DType::f32, 5120), alone);
  EXPECT_EQ(kernels_of(DType::f32, 12288), shared);
  EXPECT_EQ(kernels_of(DType::bf16, 20001), shared);
  // It could hold these, with three threads in eight idle.
  EXPECT_EQ(kernels_of(DType::bf16, 5120), shared);
}

}  // namespace
}  // namespace norite
