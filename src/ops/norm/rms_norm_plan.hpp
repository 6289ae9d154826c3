// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "norm/params.h"
#include "ops/norm/long_plan.hpp"
#include "ops/row_plan.hpp"

namespace norite::ops {

/// What the rows of all operands move in; arguments by RmsNormArgument.
RowPacks rms_norm_packs(const RmsNormParams& params, std::span<const Argument> arguments);

Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments,
                   RowPacks packs);

/// How threads share rows; arguments by RmsNormBackwardArgument.
RowPlan rms_norm_backward_rows(const RmsNormBackwardParams& params,
                               std::span<const Argument> arguments);

Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments, const RowPlan& rows);

/// Groups of that plan: each has a partial sum of dw.
int64_t rms_norm_backward_groups(const RmsNormBackwardParams& params,
                                 std::span<const Argument> arguments, const RowPlan& rows);

/// Groups of that kernel that a multiprocessor runs at once.
int64_t rms_norm_backward_groups_per_unit(const RowPlan& rows);

/// For rows that registers hold badly and threadgroup memory well, where a device copies to it
/// while threads work; else nothing. `space`: the device's.
std::optional<Plan> plan_rms_norm_staged(const RmsNormParams& params,
                                         std::span<const Argument> arguments, RowPacks packs,
                                         const GroupSpace& space);

/// Where a residual comes from: copied ahead like x, or where threadgroup memory has no room for
/// that, memory itself. The sum has the same bits, those of a norm without one.
enum class Beside { staged, from_memory };

/// For rows that groups had better share, where a device lets them wait for each other; else
/// nothing. Backward, also for those that a group keeps in threadgroup memory: one tile each.
std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments, RowPacks packs,
                                           const GroupSpace& space, Beside beside);
std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments,
                                                    RowPacks packs, const GroupSpace& space);

/// Arguments by SumPartialsArgument.
Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments);

}  // namespace norite::ops
