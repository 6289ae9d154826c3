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
  // Up to here, a group does better with a row of its own.
  const int64_t longest_alone = width == 1 ? 8192 : 4096 * width;
  if (params.dim <= longest_alone) return std::nullopt;
  const bool alone = !arguments[kRmsNormScale].bound() && !arguments[kRmsNormResidual].bound();
  const int64_t most = width == 1 ? 32 : 8;
  const RowPlan tile{.width = width,
                     .vectors = alone ? most : most / 2,
                     .threads = 128,
                     .rows = 1,
                     .looped = false};
  return plan_long("rms_norm_long", macros_of(params, arguments), params.dim, tile, 4);
}

// Small groups are better balanced; of the longest rows too many would wait for each other.
std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments) {
  constexpr int64_t kLongestAlone = 8192;
  if (params.dim <= kLongestAlone) return std::nullopt;
  const int64_t width = width_of(params, arguments);
  const int64_t threads = width == 1 ? 256 : params.dim <= 65536 ? 64 : 128;
  const RowPlan tile{.width = width,
                     .vectors = width == 1 ? 8 : 4,
                     .threads = threads,
                     .rows = 1,
                     .looped = false};
  const int64_t threads_per_unit = width == 1 ? 768 : width == 4 ? 512 : 384;
  return plan_long("rms_norm_backward_long", macros_of(params, arguments), params.dim, tile,
                   threads_per_unit / threads);
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
