// SPDX-License-Identifier: MIT
#include "ops/norm/rms_norm_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "cuda/params.h"
#include "ops/row_plan.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

namespace {

std::array<RowPlace, 5> places_of(const RmsNormParams& params,
                                  std::span<const Argument> arguments) {
  return {{{arguments[kRmsNormX], params.x},
           {arguments[kRmsNormResidual], params.residual},
           {arguments[kRmsNormScale], params.scale},
           {arguments[kRmsNormSum], params.sum},
           {arguments[kRmsNormY], params.y}}};
}

std::array<RowPlace, 4> places_of(const RmsNormBackwardParams& params,
                                  std::span<const Argument> arguments) {
  return {{{arguments[kRmsNormBackwardX], params.x},
           {arguments[kRmsNormBackwardDy], params.dy},
           {arguments[kRmsNormBackwardDresidual], params.dresidual},
           {arguments[kRmsNormBackwardDx], params.dx}}};
}

/// Elements of a pack: 1 where an operand's rows forbid more. x and weight have the same places in
/// both passes.
template <class Params>
int64_t width_of(const Params& params, std::span<const Argument> arguments) {
  static_assert(int{kRmsNormX} == int{kRmsNormBackwardX} &&
                int{kRmsNormWeight} == int{kRmsNormBackwardWeight});
  const bool aligned =
      is_aligned(arguments[kRmsNormWeight], {}) && rows_aligned(places_of(params, arguments));
  return pack_width(params.dim, arguments[kRmsNormX].view().dtype(), aligned);
}

core::Macros macros_of(const RmsNormParams& params, std::span<const Argument> arguments) {
  const Argument& x = arguments[kRmsNormX];
  const Argument& weight = arguments[kRmsNormWeight];
  return {{"X_TYPE", kernel_type(x.view().dtype())},
          {"WEIGHT_TYPE", kernel_type(weight, x)},
          {"HAS_WEIGHT", flag(weight.bound())},
          {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
          {"ROUND_BEFORE_WEIGHT", flag(params.rounding == kRoundBeforeWeight)},
          {"HAS_RESIDUAL", flag(arguments[kRmsNormResidual].bound())},
          {"HAS_SCALE", flag(arguments[kRmsNormScale].bound())},
          {"HAS_Y", flag(arguments[kRmsNormY].bound())},
          {"HAS_RMS_INV", flag(arguments[kRmsNormRmsInv].bound())},
          {"ROW_DIMS", row_dims(params.rows)}};
}

core::Macros macros_of(const RmsNormBackwardParams& params, std::span<const Argument> arguments) {
  const Argument& x = arguments[kRmsNormBackwardX];
  const Argument& weight = arguments[kRmsNormBackwardWeight];
  return {{"X_TYPE", kernel_type(x.view().dtype())},
          {"WEIGHT_TYPE", kernel_type(weight, x)},
          {"HAS_WEIGHT", flag(weight.bound())},
          {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
          {"HAS_RMS_INV", flag(arguments[kRmsNormBackwardRmsInv].bound())},
          {"HAS_DRESIDUAL", flag(arguments[kRmsNormBackwardDresidual].bound())},
          {"HAS_DX", flag(arguments[kRmsNormBackwardDx].bound())},
          {"HAS_DW", flag(arguments[kRmsNormBackwardDwPartial].bound())},
          {"ROW_DIMS", row_dims(params.rows)}};
}

/// Thirty-two elements a thread keep enough bytes in flight; half of them of f32 with a residual,
/// which takes registers as well. Rows of more than 32 KiB are looped: their second reading finds
/// them in the nearest cache.
RowLimits rms_norm_limits(int64_t dim, int64_t width, std::span<const Argument> arguments) {
  const int64_t group = arguments[kRmsNormScale].bound() ? 128 : 256;
  if (width == 1) return {.vectors = 8, .group = group};
  if (dim > 2048 * width) return {.vectors = 4, .group = group, .threads = 512};
  if (width == 4 && !arguments[kRmsNormResidual].bound()) return {.vectors = 8, .group = group};
  return {.vectors = 4, .stretch = 6, .group = group};
}

/// A thread holds x and dy of two rows, the weights and dw, which is f32: sixteen elements of each
/// are what it can keep in registers.
RowLimits rms_norm_backward_limits(int64_t width) {
  if (width == 1) return {.vectors = 8, .threads = 512};
  return {.vectors = 16 / width, .stretch = width == 4 ? 5 : 0, .threads = 512};
}

}  // namespace

Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments) {
  const int64_t width = width_of(params, arguments);
  const int64_t count = row_count(params.rows);
  const RowPlan rows = spread_rows(
      plan_rows(params.dim, width, rms_norm_limits(params.dim, width, arguments)), count);
  Plan plan{.kernel = "rms_norm",
            .macros = macros_of(params, arguments),
            .grid = groups_of(count, rows.rows, rows.rows * rows.threads),
            .columns = params.dim};
  plan.macros.add({{"LOOPED", flag(rows.looped)}});
  rows.add_to(plan.macros);
  return plan;
}

Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments) {
  const int64_t width = width_of(params, arguments);
  const RowPlan rows = plan_rows(params.dim, width, rms_norm_backward_limits(width));
  const bool has_dw = arguments[kRmsNormBackwardDwPartial].bound();
  Plan plan{.kernel = "rms_norm_backward",
            .macros = macros_of(params, arguments),
            .grid = groups_of(row_count(params.rows), has_dw ? params.rows_per_partial : rows.rows,
                              rows.rows * rows.threads),
            .columns = params.dim};
  plan.macros.add({{"LOOPED", flag(rows.looped)}});
  rows.add_to(plan.macros);
  return plan;
}

int64_t rms_norm_backward_groups_per_unit(const RmsNormBackwardParams& params,
                                          std::span<const Argument> arguments) {
  constexpr int64_t kThreads = 512;  // with 128 registers each
  const int64_t width = width_of(params, arguments);
  const RowPlan rows = plan_rows(params.dim, width, rms_norm_backward_limits(width));
  return std::max<int64_t>(1, kThreads / (rows.rows * rows.threads));
}

namespace {

template <class Params>
LongRowsLayout long_layout(const Params& params, std::span<const Argument> arguments,
                           int64_t staged, int64_t stages, int64_t group_memory) {
  return {.dim = params.dim,
          .width = 16 / size_of(arguments[kRmsNormX].view().dtype()),
          .staged = staged,
          .stages = stages,
          .most_memory = group_memory,
          .shifted = width_of(params, arguments) == 1};
}

}  // namespace

namespace {

/// Up to here, a group does better with a row of its own: of packs, and of lone elements.
constexpr int64_t kPacksAlone = 4096, kElementsAlone = 8192;

}  // namespace

std::optional<Plan> plan_rms_norm_staged(const RmsNormParams& params,
                                         std::span<const Argument> arguments,
                                         int64_t group_memory) {
  // Registers hold fewer packs, and from six for each thread on a multiprocessor holds too few
  // rows.
  constexpr int64_t kThreads = 512, kGroupsPerUnit = 3, kMostPacks = 6 * kThreads;
  const int64_t width = width_of(params, arguments), packs = params.dim / width;
  const int64_t in_registers = width == 4 ? 2048 : 1536;
  if (width == 1 || packs <= in_registers || packs > kMostPacks) return std::nullopt;
  // Few rows wait for their weights last: registers hold some of them, with the same bits.
  const RowPlan held = plan_rows(params.dim, width, rms_norm_limits(params.dim, width, arguments));
  if (!held.looped && held.threads == kThreads && are_few(row_count(params.rows), kThreads)) {
    return std::nullopt;
  }
  const int64_t vectors = (packs - 1) / kThreads + 1;
  const int64_t staged =
      1 + flag(arguments[kRmsNormResidual].bound()) + flag(arguments[kRmsNormScale].bound());
  const int64_t memory = staged * vectors * kThreads * 16;
  if (!arguments[kRmsNormY].bound() || memory > group_memory / kGroupsPerUnit) return std::nullopt;
  Plan plan{.kernel = "rms_norm_staged",
            .macros = macros_of(params, arguments),
            .grid = {.groups = {row_count(params.rows), 1, 1},
                     .threads = {kThreads, 1, 1},
                     .threadgroup_memory = {memory}},
            .columns = params.dim};
  plan.macros.add({{"VECTOR_WIDTH", width},
                   {"VECTORS_PER_THREAD", vectors},
                   {"THREADS_PER_ROW", kThreads},
                   {"ROWS_PER_GROUP", 1}});
  return plan;
}

std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments,
                                           int64_t group_memory) {
  if (params.dim <= kElementsAlone) return std::nullopt;
  const bool residual = arguments[kRmsNormResidual].bound();
  const LongRowsLayout rows =
      long_layout(params, arguments, residual ? 2 : 1, kRmsNormLongStages, group_memory);
  if (!rows.shifted && params.dim <= kPacksAlone * rows.width) return std::nullopt;
  static constexpr std::array<TileShape, 1> kShape = {{{256, 4, 3}}}, kShifted = {{{128, 4, 5}}};
  static constexpr std::array<TileShape, 1> kResidual = {{{128, 4, 3}}},
                                            kResidualShifted = {{{128, 2, 5}}};
  const auto& shapes =
      residual ? (rows.shifted ? kResidualShifted : kResidual) : (rows.shifted ? kShifted : kShape);
  return plan_long({.kernel = "rms_norm_long", .macros = macros_of(params, arguments), .grid = {}},
                   rows, shapes);
}

namespace {

/// A row in threadgroup memory, the next one beside it: the smallest tile that holds it. Only
/// 16-bit rows gain: in registers they keep half the bytes in flight.
const TileShape* staged_tile(int64_t packs) {
  static constexpr std::array<TileShape, 8> kTiles = {{{64, 5, 6},
                                                       {128, 3, 3},
                                                       {256, 2, 2},
                                                       {128, 5, 2},
                                                       {256, 3, 2},
                                                       {256, 4, 2},
                                                       {512, 3, 1},
                                                       {512, 4, 1}}};
  for (const TileShape& tile : kTiles) {
    if (packs <= tile.threads * tile.vectors) return &tile;
  }
  return nullptr;
}

/// A pack of a 16-bit row has twice the sums of dw, and a thread with a residual's gradient holds
/// more yet. Small groups wait less for each other.
std::span<const TileShape> backward_shapes(const LongRowsLayout& rows, bool has_dresidual) {
  static constexpr std::array<TileShape, 1> kShifted = {{{128, 3, 5}}};
  static constexpr std::array<TileShape, 4> kWide = {
      {{256, 4, 2}, {256, 3, 3}, {64, 5, 7}, {512, 4, 1}}};
  static constexpr std::array<TileShape, 5> kNarrow = {
      {{64, 6, 6}, {64, 5, 7}, {64, 4, 8}, {128, 4, 4}, {256, 4, 2}}};
  static constexpr std::array<TileShape, 3> kNarrowDresidual = {
      {{64, 4, 6}, {128, 4, 3}, {256, 4, 1}}};
  if (rows.shifted) return kShifted;
  if (rows.width == 4) return kWide;
  return has_dresidual ? std::span<const TileShape>(kNarrowDresidual) : kNarrow;
}

}  // namespace

std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments,
                                                    int64_t group_memory) {
  constexpr int64_t kWideAlone = 8192, kNarrowAlone = 2048;
  LongRowsLayout rows = long_layout(params, arguments, 2, kRmsNormBackwardLongStages, group_memory);
  const bool narrow = rows.width == 8 && !rows.shifted;
  if (params.dim <= (narrow ? kNarrowAlone : kWideAlone)) return std::nullopt;
  const core::Macros macros = macros_of(params, arguments);
  const TileShape* const tile = narrow ? staged_tile(params.dim / rows.width) : nullptr;
  if (tile != nullptr) {
    rows.stages = kRmsNormBackwardStagedRows;
    return plan_long({.kernel = "rms_norm_backward_staged", .macros = macros, .grid = {}}, rows,
                     {tile, 1});
  }
  return plan_long({.kernel = "rms_norm_backward_long", .macros = macros, .grid = {}}, rows,
                   backward_shapes(rows, arguments[kRmsNormBackwardDresidual].bound()));
}

Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments) {
  // A thread has sixteen loads and more under way. Groups are narrow where columns are few, so that
  // there are enough of them: eight floats are one sector of memory.
  constexpr int64_t kLoads = 16, kMostStrips = 64, kManyColumns = 4096;
  constexpr int64_t kFewestThreads = 256, kMostThreads = 1024;
  const auto enough = static_cast<uint64_t>(std::max<int64_t>(1, params.partials / kLoads));
  const int64_t strips = std::min(kMostStrips, static_cast<int64_t>(std::bit_floor(enough)));
  const int64_t narrow = params.dim < kManyColumns ? 8 : 32;
  const int64_t columns = std::clamp(narrow, kFewestThreads / strips, kMostThreads / strips);
  return {.kernel = "sum_partials",
          .macros = {{"OUT_TYPE", kernel_type(arguments[kSumPartialsOut].view().dtype())},
                     {"COLUMNS", columns},
                     {"STRIPS", strips}},
          .grid = groups_of(params.dim, columns, columns * strips),
          .columns = params.dim};
}

}  // namespace norite::ops
