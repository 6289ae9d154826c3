// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "core/command_list.hpp"
#include "norite/device.hpp"

namespace norite::graph {

/// Puts `other` in the place of `view` and its parts; changes nothing on an error.
Result<void> rebind(const Device& device, std::span<core::Command> commands, const View& view,
                    const View& other);

}  // namespace norite::graph
