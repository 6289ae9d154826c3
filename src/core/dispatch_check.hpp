// SPDX-License-Identifier: MIT
// What every dispatch is held against before it is recorded.
#pragma once

#include <span>
#include <string_view>

#include "core/backend.hpp"
#include "core/pipeline.hpp"

namespace norite::core {

/// Arguments against the kernel's parameters: bound, of the right kind, large enough, of this
/// device.
[[nodiscard]] Result<void> check_arguments(std::string_view label, const Pipeline& pipeline,
                                           std::span<const Argument> arguments,
                                           const Backend& backend);

/// The grid against the kernel's own rules, the device's limits and what it can launch.
[[nodiscard]] Result<void> check_grid(std::string_view label, const Pipeline& pipeline,
                                      const Grid& grid, const Backend& backend);

}  // namespace norite::core
