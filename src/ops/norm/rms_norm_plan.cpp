// SPDX-License-Identifier: MIT
#include "ops/norm/rms_norm_plan.hpp"

#include "ops/row_plan.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

namespace {

/// Elements of a pack: 1 where an operand's rows forbid more.
int64_t width_of(const RmsNormParams& params, std::span<const Argument> arguments) {
  const bool aligned = rows_aligned(arguments[kRmsNormX], params.x) &&
                       is_aligned(arguments[kRmsNormWeight], {}) &&
                       rows_aligned(arguments[kRmsNormResidual], params.residual) &&
                       rows_aligned(arguments[kRmsNormScale], params.scale) &&
                       rows_aligned(arguments[kRmsNormSum], params.sum) &&
                       rows_aligned(arguments[kRmsNormY], params.y);
  return pack_width(params.dim, arguments[kRmsNormX].view().dtype(), aligned);
}

int64_t width_of(const RmsNormBackwardParams& params, std::span<const Argument> arguments) {
  const bool aligned = rows_aligned(arguments[kRmsNormBackwardX], params.x) &&
                       is_aligned(arguments[kRmsNormBackwardWeight], {}) &&
                       rows_aligned(arguments[kRmsNormBackwardDy], params.dy) &&
                       rows_aligned(arguments[kRmsNormBackwardDresidual], params.dresidual) &&
                       rows_aligned(arguments[kRmsNormBackwardDx], params.dx);
  return pack_width(params.dim, arguments[kRmsNormBackwardX].view().dtype(), aligned);
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

/// Thirty-two elements a thread keep enough bytes in flight, if it holds nothing but x; half of
/// them of f32 where other operands take registers as well. Longer rows of f32 are looped: their
/// second reading finds them in the nearest cache.
RowLimits rms_norm_limits(int64_t dim, int64_t width, std::span<const Argument> arguments) {
  constexpr int64_t kLongestTile = 8192;
  const bool scaled = arguments[kRmsNormScale].bound();
  const bool alone = !scaled && !arguments[kRmsNormResidual].bound();
  const int64_t group = scaled ? 128 : 256;
  if (width == 1) return {.vectors = 8, .group = group};
  if (width == 4 && dim > kLongestTile) return {.vectors = 4, .group = group, .threads = 512};
  if (width == 4 && alone) return {.vectors = 8, .group = group};
  return {.vectors = 4, .stretch = 6, .group = group};
}

/// A thread holds x and dy of two rows, the weights and dw, which is f32: sixteen elements of each
/// are what it can keep in registers; thirty-two of 16 bits without the weights.
RowLimits rms_norm_backward_limits(int64_t dim, int64_t width) {
  constexpr int64_t kLongestWithWeights = 8192, kThreads = 512;
  if (width == 1) return {.vectors = 8, .threads = kThreads};
  if (width == 8 && dim > kLongestWithWeights) return {.vectors = 4, .threads = kThreads};
  return {.vectors = 16 / width, .stretch = 16 / width + 1, .threads = kThreads};
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
  const RowPlan rows = plan_rows(params.dim, width, rms_norm_backward_limits(params.dim, width));
  const bool has_dw = arguments[kRmsNormBackwardDwPartial].bound();
  const bool keeps_weights = !rows.looped && rows.vectors * width <= 24;
  Plan plan{.kernel = "rms_norm_backward",
            .macros = macros_of(params, arguments),
            .grid = groups_of(row_count(params.rows), has_dw ? params.rows_per_partial : rows.rows,
                              rows.rows * rows.threads),
            .columns = params.dim};
  plan.macros.add({{"LOOPED", flag(rows.looped)}, {"KEEP_WEIGHTS", flag(keeps_weights)}});
  rows.add_to(plan.macros);
  return plan;
}

namespace {

/// Rows of a width that one group still does well.
int64_t longest_of_one_group(int64_t width) { return width == 1 ? 8192 : 16384; }

LongPlan plan_long(std::string_view kernel, core::Macros macros, int64_t dim, RowPlan tile,
                   int64_t groups_per_unit) {
  macros.add({{"GROUPS_PER_UNIT", groups_per_unit}});
  tile.add_to(macros);
  return {.plan = {.kernel = kernel, .macros = std::move(macros), .grid = {}, .columns = dim},
          .tiles = (dim - 1) / (tile.threads * tile.vectors * tile.width) + 1,
          .threads = tile.threads,
          .groups_per_unit = groups_per_unit};
}

}  // namespace

std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments) {
  const int64_t width = width_of(params, arguments);
  if (params.dim <= longest_of_one_group(width)) return std::nullopt;
  const bool alone = !arguments[kRmsNormScale].bound() && !arguments[kRmsNormResidual].bound();
  const int64_t vectors = width == 1 ? 16 : 8;
  const RowPlan tile{.width = width,
                     .vectors = alone ? vectors * (width == 1 ? 2 : 1) : vectors / 2,
                     .threads = 128,
                     .rows = 1,
                     .looped = false};
  return plan_long("rms_norm_long", macros_of(params, arguments), params.dim, tile, 4);
}

std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments) {
  const int64_t width = width_of(params, arguments);
  const int64_t longest = width == 4 ? 8192 : longest_of_one_group(width);
  if (params.dim <= longest) return std::nullopt;
  const RowPlan tile{.width = width,
                     .vectors = width == 1 ? 8 : 4,
                     .threads = width == 1 ? 256 : 128,
                     .rows = 1,
                     .looped = false};
  return plan_long("rms_norm_backward_long", macros_of(params, arguments), params.dim, tile,
                   width == 4 ? 4 : 3);
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
