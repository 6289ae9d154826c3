// SPDX-License-Identifier: MIT
#include "ops/rope/head_norm_rope_family.hpp"

#include <vector>

#include "ops/dispatch.hpp"
#include "ops/norm/rms_norm_family.hpp"
#include "ops/rope/head_norm_rope_plan.hpp"
#include "ops/rope/heads.hpp"

namespace norite::ops {

Result<void> encode_head_norm_rope_family(Encoder& encoder, std::string_view operation,
                                          const HeadNormRopeFamily& op) {
  const Check check(operation);
  const Named x{op.x_name, op.x}, weight{"weight", op.weight}, y{op.y_name, op.y},
      copy{"copy", op.copy};
  NORITE_TRY_ASSIGN(const HeadShape shape, check_heads(check, x, op.half_rope_dim));
  NORITE_TRY(check.like(y, x));
  if (op.weight) NORITE_TRY(check.vector(weight, shape.head_dim, op.x.dtype()));
  if (op.copy) {
    NORITE_TRY(check.activation(copy));
    NORITE_TRY(check.shape(copy, op.x.shape(), "the shape of x"));
  }
  NORITE_TRY(check.eps(op.eps));
  HeadNormRopeParams params = {};
  NORITE_TRY_ASSIGN(params.angles, check_angles(check, op.angles, shape));
  NORITE_TRY(check.memory(encoder, {{y, {op.x_name}}, {copy}},
                          {x,
                           weight,
                           {"positions", op.angles.positions},
                           {"freq_factors", op.angles.freq_factors},
                           {"cos", op.angles.cos},
                           {"sin", op.angles.sin}}));
  params.tokens = shape.tokens;
  params.heads = shape.heads;
  params.head_dim = shape.head_dim;
  params.half_rope_dim = shape.half_rope_dim;
  params.x = head_strides(op.x);
  params.y = head_strides(op.y);
  params.copy = head_strides(op.copy);
  params.angles.negate = op.negate ? 1 : 0;
  params.eps = op.eps;
  params.normalise = op.normalise ? 1 : 0;
  NORITE_TRY_ASSIGN(params.weight_mode, check_weight_mode(check, op.weight, op.weight_mode));
  NORITE_TRY_ASSIGN(params.pairing, check_pairing(check, op.pairing));

  std::vector<Argument> arguments =
      bind(kHeadNormRopeParams + 1, {{kHeadNormRopeX, op.x},
                                     {kHeadNormRopeWeight, op.weight},
                                     {kHeadNormRopePositions, op.angles.positions},
                                     {kHeadNormRopeFreqFactors, op.angles.freq_factors},
                                     {kHeadNormRopeCos, op.angles.cos},
                                     {kHeadNormRopeSin, op.angles.sin},
                                     {kHeadNormRopeY, op.y},
                                     {kHeadNormRopeCopy, op.copy}});
  arguments[kHeadNormRopeParams] = Argument::bytes(params);
  return dispatch(encoder, operation, "fused_head_norm_rope", std::move(arguments),
                  [&] { return plan_head_norm_rope(params, arguments); });
}

}  // namespace norite::ops
