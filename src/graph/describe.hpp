// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "core/command_list.hpp"
#include "norite/device.hpp"
#include "norite/graph_description.hpp"

namespace norite::graph {

GraphDescription describe(const Device& device, std::span<const core::Command> commands);

}  // namespace norite::graph
