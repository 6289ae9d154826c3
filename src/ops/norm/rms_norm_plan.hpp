// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "norm/params.h"
#include "ops/norm/long_plan.hpp"

namespace norite::ops {

/// Arguments by RmsNormArgument.
Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments);

/// Arguments by RmsNormBackwardArgument.
Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments);

/// For rows that groups had better share, where a device lets them wait for each other; else
/// nothing. Arguments as above; `group_memory`: bytes that a group may have.
std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments,
                                           int64_t group_memory);
std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments,
                                                    int64_t group_memory);

/// Arguments by SumPartialsArgument.
Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments);

}  // namespace norite::ops
