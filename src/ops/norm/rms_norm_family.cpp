// SPDX-License-Identifier: MIT
#include "ops/norm/rms_norm_family.hpp"

#include <fmt/format.h>

#include <vector>

#include "ops/check.hpp"
#include "ops/dispatch.hpp"
#include "ops/norm/long_rows.hpp"
#include "ops/norm/rms_norm_plan.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

namespace {

Result<NormRounding> check_rounding(const Check& check, Rounding rounding) {
  switch (rounding) {
    case Rounding::once:
      return kRoundOnce;
    case Rounding::before_weight:
      return kRoundBeforeWeight;
  }
  return check.refuse("rounding", fmt::format("is {}", static_cast<int>(rounding)),
                      "once (0) or before_weight (1)");
}

}  // namespace

Result<NormWeightMode> check_weight_mode(const Check& check, const View& weight, WeightMode mode) {
  switch (mode) {
    case WeightMode::plain:
      return weight ? kWeightPlain : kWeightNone;
    case WeightMode::one_plus:
      return weight ? kWeightOnePlus : kWeightNone;
  }
  return check.refuse("weight_mode", fmt::format("is {}", static_cast<int>(mode)),
                      "plain (0) or one_plus (1)");
}

bool is_rms_norm_kernel(std::string_view name) noexcept {
  return name == "rms_norm" || name == "rms_norm_staged" || shares_rows(name);
}

bool shares_rows(std::string_view name) noexcept { return name == "rms_norm_long"; }

Result<void> encode_rms_norm_family(Encoder& encoder, std::string_view operation,
                                    const RmsNormFamily& op) {
  const Check check(operation);
  const Named x{"x", op.x}, weight{"weight", op.weight}, residual{"residual", op.residual},
      scale{"scale", op.scale}, sum{"sum", op.sum}, y{"y", op.y}, rms_inv{"rms_inv", op.rms_inv};

  NORITE_TRY(check.activation(x));
  for (const Named& operand : {residual, scale, sum, y}) {
    if (operand.view) NORITE_TRY(check.like(operand, x));
  }
  const int64_t dim = op.x.shape().back();
  if (op.weight) NORITE_TRY(check.vector(weight, dim, op.x.dtype()));
  if (op.rms_inv) NORITE_TRY(check.per_row(rms_inv, x));
  NORITE_TRY(check.eps(op.eps));
  NORITE_TRY(check.memory(encoder, {{sum, {"residual", "x"}}, {y, {"x", "scale"}}, {rms_inv}},
                          {x, weight, residual, scale}));

  RmsNormParams params = {};
  NORITE_TRY_ASSIGN(params.rows, collapse_rows(check, leading_shape(op.x.shape()), RowOrder::memory,
                                               {{x, &params.x},
                                                {residual, &params.residual},
                                                {scale, &params.scale},
                                                {sum, &params.sum},
                                                {y, &params.y},
                                                {rms_inv, &params.rms_inv}}));
  params.dim = dim;
  params.inverse_dim = 1.0F / static_cast<float>(dim);
  params.eps = op.eps;
  NORITE_TRY_ASSIGN(params.weight_mode, check_weight_mode(check, op.weight, op.weight_mode));
  NORITE_TRY_ASSIGN(params.rounding, check_rounding(check, op.rounding));

  std::vector<Argument> arguments = bind(kRmsNormParams + 1, {{kRmsNormX, op.x},
                                                              {kRmsNormWeight, op.weight},
                                                              {kRmsNormResidual, op.residual},
                                                              {kRmsNormScale, op.scale},
                                                              {kRmsNormSum, op.sum},
                                                              {kRmsNormY, op.y},
                                                              {kRmsNormRmsInv, op.rms_inv}});
  arguments[kRmsNormParams] = Argument::bytes(params);
  const RowPacks packs = rms_norm_packs(params, arguments);
  if (runs_cuda_kernels(encoder.device())) {
    if (auto staged =
            plan_rms_norm_staged(params, arguments, packs, group_space(encoder.device()))) {
      return dispatch_text(encoder, operation, *std::move(staged), std::move(arguments));
    }
  }
  const auto long_rows = [&](Beside beside) {
    return fit_long_rows(encoder.device(), row_count(params.rows), 1, [&](const GroupSpace& space) {
      return plan_rms_norm_long(params, arguments, packs, space, beside);
    });
  };
  auto shared = long_rows(Beside::staged);
  if (!shared && op.residual) shared = long_rows(Beside::from_memory);
  if (shared) return dispatch_long(encoder, operation, *std::move(shared), std::move(arguments));
  return dispatch(encoder, operation, "rms_norm", std::move(arguments),
                  [&] { return plan_rms_norm(params, arguments, packs); });
}

}  // namespace norite::ops
