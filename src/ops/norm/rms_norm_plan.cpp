// SPDX-License-Identifier: MIT
#include "ops/norm/rms_norm_plan.hpp"

#include <array>

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
  const RowPlan rows = plan_rows(params.dim, width, rms_norm_limits(params.dim, width, arguments));
  Plan plan{.kernel = "rms_norm",
            .macros = macros_of(params, arguments),
            .grid = groups_of(row_count(params.rows), rows.rows, rows.rows * rows.threads),
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

std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments,
                                           int64_t group_memory) {
  // Up to here, a group does better with a row of its own: of packs, and of lone elements.
  constexpr int64_t kPacksAlone = 4096, kElementsAlone = 8192;
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

/// Whether a group that has a row to itself leaves more than a fifth of its threads idle. Only
/// 16-bit rows suffer: with half the bytes a thread, there are too few in flight.
bool wasteful_alone(int64_t dim, int64_t width) {
  constexpr int64_t kShortest = 2048;
  if (width != 8 || dim < kShortest) return false;
  const RowPlan alone = plan_rows(dim, width, rms_norm_backward_limits(width));
  return 5 * dim < 4 * alone.threads * alone.vectors * width;
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
  constexpr int64_t kLongestAlone = 8192;
  const int64_t width = 16 / size_of(arguments[kRmsNormBackwardX].view().dtype());
  if (params.dim <= kLongestAlone && !wasteful_alone(params.dim, width)) return std::nullopt;
  const LongRowsLayout rows =
      long_layout(params, arguments, 2, kRmsNormBackwardLongStages, group_memory);
  if (rows.shifted && params.dim <= kLongestAlone) return std::nullopt;
  return plan_long(
      {.kernel = "rms_norm_backward_long", .macros = macros_of(params, arguments), .grid = {}},
      rows, backward_shapes(rows, arguments[kRmsNormBackwardDresidual].bound()));
}

Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments) {
  // Narrow groups, so that there are enough of them where columns are few: eight floats are one
  // sector of memory. The wider ones read longer runs.
  constexpr int64_t kThreads = 256, kManyColumns = 8192;
  const int64_t columns = params.dim < kManyColumns ? 8 : 32;
  return {.kernel = "sum_partials",
          .macros = {{"OUT_TYPE", kernel_type(arguments[kSumPartialsOut].view().dtype())},
                     {"COLUMNS", columns},
                     {"STRIPS", kThreads / columns}},
          .grid = groups_of(params.dim, columns, kThreads),
          .columns = params.dim};
}

}  // namespace norite::ops
