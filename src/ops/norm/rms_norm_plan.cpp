// SPDX-License-Identifier: MIT
#include "ops/norm/rms_norm_plan.hpp"

#include "ops/row_plan.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments) {
  const Argument& x = arguments[kRmsNormX];
  const Argument& weight = arguments[kRmsNormWeight];
  const bool aligned = rows_aligned(x, params.x) && is_aligned(weight, {}) &&
                       rows_aligned(arguments[kRmsNormResidual], params.residual) &&
                       rows_aligned(arguments[kRmsNormScale], params.scale) &&
                       rows_aligned(arguments[kRmsNormSum], params.sum) &&
                       rows_aligned(arguments[kRmsNormY], params.y);
  const int64_t width = pack_width(params.dim, x.view().dtype(), aligned);
  // Groups of 256 threads were the fastest on an H200; with scale a thread holds more, and 128
  // were.
  const int64_t group = arguments[kRmsNormScale].bound() ? 128 : 256;
  const RowPlan rows =
      plan_rows(params.dim, width,
                {.vectors = width == 1 ? 8 : 4, .stretch = width == 1 ? 0 : 6, .group = group});

  Plan plan{.kernel = "rms_norm",
            .macros = {{"X_TYPE", kernel_type(x.view().dtype())},
                       {"WEIGHT_TYPE", kernel_type(weight, x)},
                       {"HAS_WEIGHT", flag(weight.bound())},
                       {"HAS_RESIDUAL", flag(arguments[kRmsNormResidual].bound())},
                       {"HAS_SCALE", flag(arguments[kRmsNormScale].bound())},
                       {"HAS_Y", flag(arguments[kRmsNormY].bound())},
                       {"HAS_RMS_INV", flag(arguments[kRmsNormRmsInv].bound())},
                       {"LOOPED", flag(rows.looped)}},
            .grid = groups_of(row_count(params.rows), rows.rows, rows.rows * rows.threads),
            .columns = params.dim};
  rows.add_to(plan.macros);
  return plan;
}

Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments) {
  const Argument& x = arguments[kRmsNormBackwardX];
  const Argument& weight = arguments[kRmsNormBackwardWeight];
  const bool has_dw = arguments[kRmsNormBackwardDwPartial].bound();
  const bool aligned = rows_aligned(x, params.x) && is_aligned(weight, {}) &&
                       rows_aligned(arguments[kRmsNormBackwardDy], params.dy) &&
                       rows_aligned(arguments[kRmsNormBackwardDresidual], params.dresidual) &&
                       rows_aligned(arguments[kRmsNormBackwardDx], params.dx) &&
                       is_aligned(arguments[kRmsNormBackwardDwPartial], {});
  const int64_t width = pack_width(params.dim, x.view().dtype(), aligned);
  // A thread holds x, dy, the weights and dw, which is f32: 16 elements of each are what it can
  // keep in registers. There are few groups with dw, one a partial, so they are large.
  const RowPlan rows = plan_rows(params.dim, width,
                                 {.vectors = width == 1 ? 8 : 16 / width,
                                  .stretch = width == 1 ? 0 : 16 / width + 1,
                                  .group = has_dw ? 512 : 128});

  Plan plan{.kernel = "rms_norm_backward",
            .macros = {{"X_TYPE", kernel_type(x.view().dtype())},
                       {"WEIGHT_TYPE", kernel_type(weight, x)},
                       {"HAS_WEIGHT", flag(weight.bound())},
                       {"HAS_RMS_INV", flag(arguments[kRmsNormBackwardRmsInv].bound())},
                       {"HAS_DRESIDUAL", flag(arguments[kRmsNormBackwardDresidual].bound())},
                       {"HAS_DX", flag(arguments[kRmsNormBackwardDx].bound())},
                       {"HAS_DW", flag(has_dw)},
                       {"LOOPED", flag(rows.looped)}},
            .grid = groups_of(row_count(params.rows), has_dw ? params.rows_per_partial : rows.rows,
                              rows.rows * rows.threads),
            .columns = params.dim};
  rows.add_to(plan.macros);
  return plan;
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
