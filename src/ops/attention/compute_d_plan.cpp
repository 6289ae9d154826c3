// SPDX-License-Identifier: MIT
#include "ops/attention/compute_d_plan.hpp"

#include <array>

#include "ops/row_plan.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

Plan plan_compute_d(const ComputeDParams& params, std::span<const Argument> arguments) {
  constexpr int64_t kMostLone = 1000;
  const Argument& o = arguments[kComputeDO];
  const bool aligned =
      rows_aligned(std::array<RowPlace, 2>{{{o, params.o}, {arguments[kComputeDDo], params.d_o}}});
  const RowPacks packs = row_packs(params.head_dim, o.view().dtype(), aligned, kMostLone);
  // Without reads that stay, heads of 64 in bf16 reach 0.95 of the copy bandwidth of an H200 so,
  // and 0.91 with two packs a thread in groups of 128; longer ones do not mind.
  const RowPlan rows = plan_rows(
      params.head_dim, packs, {.vectors = packs.width == 1 ? 8 : 4, .short_row = 1, .group = 256});
  Plan plan{
      .key = {"flash_attn_train_bwd_compute_d",
              {{"X_TYPE", kernel_type(o.view().dtype())}, {"ROW_DIMS", row_dims(params.rows)}}},
      .grid = groups_of(row_count(params.rows), rows.rows, rows.rows * rows.threads),
      .columns = params.head_dim};
  rows.add_to(plan.key.macros);
  return plan;
}

}  // namespace norite::ops
