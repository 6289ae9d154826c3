// SPDX-License-Identifier: MIT
#include "norite/ops/fused_head_norm_rope_backward.hpp"

#include <algorithm>
#include <vector>

#include "ops/dispatch.hpp"
#include "ops/norm/rms_norm_family.hpp"
#include "ops/norm/weight_gradient.hpp"
#include "ops/rope/head_norm_rope_plan.hpp"
#include "ops/rope/heads.hpp"

namespace norite::ops {

namespace {

constexpr std::string_view kName = "fused_head_norm_rope_backward";

/// Of kernel text, one partial each: as many as an H200 has room for, which then begin and end
/// together. With twice as many, half of them begin while others end: not faster, and there are
/// more partials to add up. Half as many again leave it idle in the end (0.71 to 0.78 of the copy
/// bandwidth).
constexpr int64_t kGroups = 528;

int64_t tokens_per_partial(const Encoder& encoder, const HeadShape& shape) {
  const int64_t rows = rows_per_partial(encoder, kName, shape.tokens * shape.heads, kGroups);
  return std::max<int64_t>(1, rows / shape.heads);
}

int64_t partials_of(const Encoder& encoder, const HeadNormRopeBackwardParams& params) {
  constexpr int64_t kFewestHeads = 64;  // of a group, which may take as many at once
  if (has_native(encoder, kName)) return (params.tokens - 1) / params.tokens_per_partial + 1;
  return std::clamp<int64_t>(params.tokens * params.heads / kFewestHeads, 1, kGroups);
}

Result<HeadNormRopeBackwardParams> check_backward(const Encoder& encoder,
                                                  const FusedHeadNormRopeBackward& op) {
  const Check check(kName);
  const Named x{"x", op.x}, weight{"weight", op.weight}, dy{"dy", op.dy}, dx{"dx", op.dx},
      dw{"dw", op.dw};
  NORITE_TRY_ASSIGN(const HeadShape shape, check_heads(check, x, op.half_rope_dim));
  NORITE_TRY(check.like(dy, x));
  NORITE_TRY(check_gradients(check, op.weight, op.dx, op.dw));
  if (op.dx) NORITE_TRY(check.like(dx, x));
  if (op.weight) NORITE_TRY(check.vector(weight, shape.head_dim, op.x.dtype()));
  if (op.dw) NORITE_TRY(check.vector(dw, shape.head_dim, op.weight.dtype()));
  NORITE_TRY(check.eps(op.eps));
  HeadNormRopeBackwardParams params = {};
  NORITE_TRY_ASSIGN(params.angles, check_angles(check, op.angles, shape));
  NORITE_TRY(check.memory(encoder, {{dx, {"dy"}}, {dw}},
                          {x,
                           weight,
                           dy,
                           {"positions", op.angles.positions},
                           {"freq_factors", op.angles.freq_factors},
                           {"cos", op.angles.cos},
                           {"sin", op.angles.sin}}));
  params.tokens = shape.tokens;
  params.heads = shape.heads;
  params.head_dim = shape.head_dim;
  params.half_rope_dim = shape.half_rope_dim;
  params.tokens_per_partial = tokens_per_partial(encoder, shape);
  params.x = head_strides(op.x);
  params.dy = head_strides(op.dy);
  params.dx = head_strides(op.dx);
  params.eps = op.eps;
  NORITE_TRY_ASSIGN(params.weight_mode, check_weight_mode(check, op.weight, op.weight_mode));
  NORITE_TRY_ASSIGN(params.pairing, check_pairing(check, op.pairing));
  return params;
}

}  // namespace

Result<void> fused_head_norm_rope_backward(Encoder& encoder, const FusedHeadNormRopeBackward& op) {
  NORITE_TRY_ASSIGN(const HeadNormRopeBackwardParams params, check_backward(encoder, op));
  View partials;
  if (op.dw) {
    const int64_t count = partials_of(encoder, params);
    NORITE_TRY_ASSIGN(partials, acquire_partials(encoder, kName, count, params.head_dim));
  }
  std::vector<Argument> arguments = bind(
      kHeadNormRopeBackwardParams + 1, {{kHeadNormRopeBackwardX, op.x},
                                        {kHeadNormRopeBackwardWeight, op.weight},
                                        {kHeadNormRopeBackwardPositions, op.angles.positions},
                                        {kHeadNormRopeBackwardFreqFactors, op.angles.freq_factors},
                                        {kHeadNormRopeBackwardCos, op.angles.cos},
                                        {kHeadNormRopeBackwardSin, op.angles.sin},
                                        {kHeadNormRopeBackwardDy, op.dy},
                                        {kHeadNormRopeBackwardDx, op.dx},
                                        {kHeadNormRopeBackwardDwPartial, partials}});
  arguments[kHeadNormRopeBackwardParams] = Argument::bytes(params);
  NORITE_TRY(dispatch(encoder, kName, "fused_head_norm_rope_backward", std::move(arguments),
                      [&] { return plan_head_norm_rope_backward(params, arguments); }));
  if (op.dw) return encode_sum_partials(encoder, kName, partials, op.dw);
  return {};
}

}  // namespace norite::ops
