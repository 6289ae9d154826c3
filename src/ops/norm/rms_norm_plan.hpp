// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "norm/params.h"
#include "ops/plan.hpp"

namespace norite::ops {

/// Arguments by RmsNormArgument.
Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments);

/// Arguments by RmsNormBackwardArgument.
Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments);

/// Arguments by SumPartialsArgument.
Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments);

}  // namespace norite::ops
