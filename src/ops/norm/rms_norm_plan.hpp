// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "norm/params.h"
#include "ops/plan.hpp"

namespace norite::ops {

/// Arguments by RmsNormArgument.
Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments);

/// Arguments by RmsNormBackwardArgument.
Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments);

/// Several groups a row, which wait for each other: for devices that let them.
struct LongPlan {
  Plan plan;                // without a grid
  int64_t tiles;            // of a row: as many groups share it
  int64_t threads;          // of a group
  int64_t groups_per_unit;  // that a compute unit holds at the same time
};

/// For rows that are too long for one group; else nothing. Arguments as above.
std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments);
std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments);

/// Arguments by SumPartialsArgument.
Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments);

}  // namespace norite::ops
