// SPDX-License-Identifier: MIT
#include "ops/norm/long_rows.hpp"

#include <fmt/format.h>

#include "core/device_state.hpp"
#include "cuda/params.h"

namespace norite::ops {

namespace {

constexpr int64_t kWordsPerSum = 2;

}  // namespace

int64_t compute_units(const Device& device) {
  constexpr int64_t kUsual = 132;
  const int64_t units = device.info().limits.cooperating_units;
  return units > 0 ? units : kUsual;
}

GroupSpace group_space(const Device& device) {
  const DeviceLimits& limits = device.info().limits;
  return {.units = limits.cooperating_units, .memory = limits.max_group_memory_bytes};
}

std::optional<LongRows> fit_long_rows(const Device& device, const LongPlan& plan, int64_t rows,
                                      int64_t sums) {
  const GroupSpace space = group_space(device);
  const int64_t groups = space.groups_per_unit(plan.tile, plan.group_memory);
  const int64_t most = space.units * groups / plan.tiles;
  // Not so few that rows among others would have another kernel than alone.
  const int64_t whole = most / plan.together * plan.together;
  const int64_t at_once = whole > 0 && most >= rows ? rows : whole;
  const int64_t shared = kSharedSums + rows * plan.tiles * sums;
  const int64_t words = plan.tiles > 1 ? shared * kWordsPerSum : 0;
  if (at_once == 0 || words > UINT32_MAX || plan.counters > kMostTicketCounters) {
    return std::nullopt;
  }
  LongRows fit{.plan = plan.plan, .rows = at_once, .words = words};
  fit.plan.key.macros.add({{"GROUPS_PER_UNIT", groups}});
  fit.plan.grid = {.groups = {fit.rows * plan.tiles, 1, 1},
                   .threads = {plan.tile.threads, 1, 1},
                   .threadgroup_memory = {plan.group_memory}};
  return fit;
}

Result<void> dispatch_long(Encoder& encoder, std::string_view operation, LongRows&& long_rows,
                           std::vector<Argument>&& arguments) {
  if (long_rows.words == 0) {
    return dispatch_text(encoder, operation, std::move(long_rows.plan), std::move(arguments));
  }
  auto sums = encoder.device().state()->shared_sums(long_rows.words);
  if (!sums) {
    return fail(sums.error().code,
                fmt::format("{}: no memory for shared sums: {}", operation, sums.error().message));
  }
  NORITE_TRY_ASSIGN(View view, View(*sums).slice(0, 0, long_rows.words));
  arguments.emplace_back(std::move(view));
  return dispatch_text(encoder, operation, std::move(long_rows.plan), std::move(arguments));
}

}  // namespace norite::ops
