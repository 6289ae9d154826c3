// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "ops/plan.hpp"
#include "rope/params.h"

namespace norite::ops {

/// Of fused_head_norm_rope; arguments by HeadNormRopeArgument.
Plan plan_head_norm_rope(const HeadNormRopeParams& params, std::span<const Argument> arguments);

/// Of fused_head_norm_rope_backward; arguments by HeadNormRopeBackwardArgument.
Plan plan_head_norm_rope_backward(const HeadNormRopeBackwardParams& params,
                                  std::span<const Argument> arguments);

/// Fills the powers of theta from theta and frequency_dim.
void set_frequency_powers(RopeAngleParams& params);

}  // namespace norite::ops
