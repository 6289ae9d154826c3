// SPDX-License-Identifier: MIT
#include "norite/ops/flash_attn_train_bwd_compute_d.hpp"

#include <vector>

#include "attention/params.h"
#include "ops/attention/compute_d_plan.hpp"
#include "ops/dispatch.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

Result<void> flash_attn_train_bwd_compute_d(Encoder& encoder, const FlashAttnTrainBwdComputeD& op) {
  constexpr std::string_view kName = "flash_attn_train_bwd_compute_d";
  const Check check(kName);
  const Named o{"o", op.o}, d_o{"d_o", op.d_o}, d{"d", op.d};
  NORITE_TRY(check.activation(o));
  NORITE_TRY(check.like(d_o, o));
  NORITE_TRY(check.per_row(d, o));
  NORITE_TRY(check.memory(encoder, {{d}}, {o, d_o}));

  ComputeDParams params = {};
  NORITE_TRY_ASSIGN(params.rows,
                    collapse_rows(check, leading_shape(op.o.shape()), RowOrder::memory,
                                  {{o, &params.o}, {d_o, &params.d_o}, {d, &params.d}}));
  params.head_dim = op.o.shape().back();
  std::vector<Argument> arguments =
      bind(kComputeDParams + 1, {{kComputeDO, op.o}, {kComputeDDo, op.d_o}, {kComputeDOut, op.d}});
  arguments[kComputeDParams] = Argument::bytes(params);
  return dispatch(encoder, kName, kName, std::move(arguments),
                  [&] { return plan_compute_d(params, arguments); });
}

}  // namespace norite::ops
