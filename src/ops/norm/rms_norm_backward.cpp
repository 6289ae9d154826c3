// SPDX-License-Identifier: MIT
#include "norite/ops/rms_norm_backward.hpp"

#include <vector>

#include "norm/params.h"
#include "ops/check.hpp"
#include "ops/dispatch.hpp"
#include "ops/norm/long_rows.hpp"
#include "ops/norm/rms_norm_family.hpp"
#include "ops/norm/rms_norm_plan.hpp"
#include "ops/norm/weight_gradient.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

namespace {

// The checks that the whole and its parts share; which outputs are required differs.
Result<void> check_backward(const Check& check, const Encoder& encoder, const RmsNormBackward& op) {
  const Named x{"x", op.x}, weight{"weight", op.weight}, dy{"dy", op.dy},
      rms_inv{"rms_inv", op.rms_inv}, dresidual{"dresidual", op.dresidual}, dx{"dx", op.dx},
      dw{"dw", op.dw};
  NORITE_TRY(check.activation(x));
  NORITE_TRY(check.like(dy, x));
  if (op.dresidual) NORITE_TRY(check.like(dresidual, x));
  if (op.dx) NORITE_TRY(check.like(dx, x));
  const int64_t dim = op.x.shape().back();
  if (op.weight) NORITE_TRY(check.vector(weight, dim, op.x.dtype()));
  if (op.dw) NORITE_TRY(check.vector(dw, dim, op.weight ? op.weight.dtype() : op.x.dtype()));
  if (op.rms_inv) NORITE_TRY(check.per_row(rms_inv, x));
  NORITE_TRY(check.eps(op.eps));
  if (op.dresidual && !op.dx) {
    return check.refuse("dresidual", "is given without dx", "dx as well");
  }
  return check.memory(encoder, {{dx, {"dy", "dresidual"}}, {dw}},
                      {x, weight, dy, rms_inv, dresidual});
}

Result<void> encode_backward(Encoder& encoder, std::string_view operation,
                             const RmsNormBackward& op) {
  const Check check(operation);
  NORITE_TRY(check_backward(check, encoder, op));
  RmsNormBackwardParams params = {};
  NORITE_TRY_ASSIGN(params.rows, collapse_rows(check, leading_shape(op.x.shape()),
                                               op.dw ? RowOrder::logical : RowOrder::memory,
                                               {{{"x", op.x}, &params.x},
                                                {{"dy", op.dy}, &params.dy},
                                                {{"rms_inv", op.rms_inv}, &params.rms_inv},
                                                {{"dresidual", op.dresidual}, &params.dresidual},
                                                {{"dx", op.dx}, &params.dx}}));
  const int64_t rows = row_count(params.rows);
  params.dim = op.x.shape().back();
  params.eps = op.eps;
  NORITE_TRY_ASSIGN(params.weight_mode, check_weight_mode(check, op.weight, op.weight_mode));

  std::vector<Argument> arguments = bind(
      kRmsNormBackwardParams + 1, {{kRmsNormBackwardX, op.x},
                                   {kRmsNormBackwardWeight, op.weight},
                                   {kRmsNormBackwardDy, op.dy},
                                   {kRmsNormBackwardRmsInv, op.rms_inv},
                                   {kRmsNormBackwardDresidual, op.dresidual},
                                   {kRmsNormBackwardDx, op.dx},
                                   // Its partials' place, until it is known how many there are.
                                   {kRmsNormBackwardDwPartial, op.dw}});
  const RowPlan sharing = rms_norm_backward_rows(params, arguments);
  params.rows_per_partial = rows_per_partial(
      encoder, "rms_norm_backward", rows,
      compute_units(encoder.device()) * rms_norm_backward_groups_per_unit(sharing));
  arguments[kRmsNormBackwardParams] = Argument::bytes(params);
  auto long_rows = fit_long_rows(encoder.device(), rows, 2, [&](const GroupSpace& space) {
    return plan_rms_norm_backward_long(params, arguments, sharing.packs, space);
  });

  View partials;
  if (op.dw) {
    const int64_t count = long_rows ? long_rows->rows
                          : has_native(encoder, "rms_norm_backward")
                              ? (rows - 1) / params.rows_per_partial + 1
                              : rms_norm_backward_groups(params, arguments, sharing);
    NORITE_TRY_ASSIGN(partials, acquire_partials(encoder, operation, count, params.dim));
    arguments[kRmsNormBackwardDwPartial] = partials;
  }
  if (long_rows) {
    NORITE_TRY(dispatch_long(encoder, operation, *std::move(long_rows), std::move(arguments)));
  } else {
    NORITE_TRY(dispatch(encoder, operation, "rms_norm_backward", std::move(arguments),
                        [&] { return plan_rms_norm_backward(params, arguments, sharing); }));
  }
  if (op.dw) return encode_sum_partials(encoder, operation, partials, op.dw);
  return {};
}

}  // namespace

Result<void> rms_norm_backward(Encoder& encoder, const RmsNormBackward& op) {
  constexpr std::string_view kName = "rms_norm_backward";
  const Check check(kName);
  NORITE_TRY(check_gradients(check, op.weight, op.dx, op.dw));
  return encode_backward(encoder, kName, op);
}

Result<void> rms_norm_compute_rms_inv(Encoder& encoder, const ComputeRmsInv& op) {
  constexpr std::string_view kName = "rms_norm_compute_rms_inv";
  NORITE_TRY(Check(kName).given({"rms_inv", op.rms_inv}));
  return encode_rms_norm_family(encoder, kName, {.x = op.x, .rms_inv = op.rms_inv, .eps = op.eps});
}

Result<void> rms_norm_backward_dx(Encoder& encoder, const RmsNormBackwardDx& op) {
  constexpr std::string_view kName = "rms_norm_backward_dx";
  NORITE_TRY(Check(kName).given({"rms_inv", op.rms_inv}));
  NORITE_TRY(Check(kName).given({"dx", op.dx}));
  return encode_backward(encoder, kName,
                         {.x = op.x,
                          .weight = op.weight,
                          .dy = op.dy,
                          .rms_inv = op.rms_inv,
                          .dx = op.dx,
                          .weight_mode = op.weight_mode});
}

Result<void> rms_norm_backward_dw(Encoder& encoder, const RmsNormBackwardDw& op) {
  constexpr std::string_view kName = "rms_norm_backward_dw";
  NORITE_TRY(Check(kName).given({"rms_inv", op.rms_inv}));
  NORITE_TRY(Check(kName).given({"dw", op.dw}));
  return encode_backward(encoder, kName,
                         {.x = op.x, .dy = op.dy, .rms_inv = op.rms_inv, .dw = op.dw});
}

}  // namespace norite::ops
