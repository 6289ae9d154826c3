// SPDX-License-Identifier: MIT
#include "ops/dispatch.hpp"

#include <fmt/format.h>

#include <span>

#include "core/device_state.hpp"

namespace norite::ops {

namespace {

/// Whether operands are so large that caches of GPUs hold little of them.
bool pass_caches_by(std::span<const Argument> arguments) {
  constexpr int64_t kManyBytes = int64_t{128} << 20;
  int64_t bytes = 0;
  for (const Argument& argument : arguments) {
    if (argument.view()) bytes += argument.view().size_bytes();
  }
  return bytes >= kManyBytes;
}

}  // namespace

bool runs_cuda_kernels(const Device& device) { return device.info().limits.cooperating_units > 0; }

std::vector<Argument> bind(size_t count, std::initializer_list<Bound> views) {
  std::vector<Argument> arguments(count);
  for (const auto& [position, view] : views) {
    if (view) arguments[position] = view;
  }
  return arguments;
}

Result<void> dispatch_text(Encoder& encoder, std::string_view operation, Plan plan,
                           std::vector<Argument>&& arguments) {
  constexpr int64_t kMostColumns = int64_t{1} << 31;
  if (plan.columns > kMostColumns) {
    return fail(Code::unsupported,
                fmt::format("{}: rows of {} elements, {} takes at most {}", operation, plan.columns,
                            encoder.device().info().id, kMostColumns));
  }
  if (runs_cuda_kernels(encoder.device()) && pass_caches_by(arguments)) {
    plan.key.macros.add({{"READS_STAY", 1}});  // kernels/cuda/staying_reads.h
  }
  NORITE_TRY_ASSIGN(const Pipeline pipeline, encoder.device().registry().get_planned(plan.key));
  return encoder.dispatch_owned(pipeline, std::move(arguments), plan.grid, operation);
}

}  // namespace norite::ops
