// SPDX-License-Identifier: MIT
// Rows that several groups share (kernels/cuda), on devices whose groups may wait for each other.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "norite/device.hpp"
#include "norite/encoder.hpp"
#include "ops/dispatch.hpp"
#include "ops/norm/rms_norm_plan.hpp"

namespace norite::ops {

/// A plan, and how much of it a device runs at the same time.
struct LongRows {
  Plan plan;
  int64_t rows = 0;   // that are worked on at once
  int64_t words = 0;  // u32 of what groups share; none where each row has a group to itself
};

/// Nothing where the device cannot run all groups of a row at once.
std::optional<LongRows> fit_long_rows(const Device& device, const LongPlan& plan, int64_t rows,
                                      int64_t sums);

/// Multiprocessors of a GPU; as many as an H200 has where a device does not say.
int64_t compute_units(const Device& device);

/// Of a device that runs them.
GroupSpace group_space(const Device& device);

/// The kernel that shares `rows` rows between groups, `sums` sums a tile; nothing where the rows
/// are not that long (`make_plan` has no plan) or the device's groups may not wait for each other.
template <class MakePlan>
std::optional<LongRows> fit_long_rows(const Device& device, int64_t rows, int64_t sums,
                                      const MakePlan& make_plan) {
  if (!runs_cuda_kernels(device)) return std::nullopt;
  const std::optional<LongPlan> plan = make_plan(group_space(device));
  return plan ? fit_long_rows(device, *plan, rows, sums) : std::nullopt;
}

/// Records the kernel; with shared sums as its last argument, if any.
[[nodiscard]] Result<void> dispatch_long(Encoder& encoder, std::string_view operation,
                                         LongRows&& long_rows, std::vector<Argument>&& arguments);

}  // namespace norite::ops
