// SPDX-License-Identifier: MIT
#include "ops/dispatch.hpp"

#include <fmt/format.h>

#include "core/device_state.hpp"

namespace norite::ops {

std::vector<Argument> bind(size_t count, std::initializer_list<Bound> views) {
  std::vector<Argument> arguments(count);
  for (const auto& [position, view] : views) {
    if (view) arguments[position] = view;
  }
  return arguments;
}

Result<void> dispatch_text(Encoder& encoder, std::string_view operation, const Plan& plan,
                           std::vector<Argument>&& arguments) {
  constexpr int64_t kMostColumns = int64_t{1} << 31;
  if (plan.columns > kMostColumns) {
    return fail(Code::unsupported,
                fmt::format("{}: rows of {} elements, {} takes at most {}", operation, plan.columns,
                            encoder.device().info().id, kMostColumns));
  }
  NORITE_TRY_ASSIGN(const Pipeline pipeline, encoder.device().registry().get_planned(plan.key));
  return encoder.dispatch_owned(pipeline, std::move(arguments), plan.grid, operation);
}

}  // namespace norite::ops
