// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "backends/metal/objc.hpp"
#include "core/command_list.hpp"

namespace norite::metal {

/// Constants that are too many to travel inside of a command buffer, by argument; null elsewhere.
using LargeConstants = std::vector<Object>;

/// What a dispatch needs before it can be encoded: after this, nothing about it can be refused.
/// Errors: invalid_argument for more threadgroup memory than the kernel's own variables leave and
/// for grids that Metal cannot count, out_of_memory.
[[nodiscard]] Result<LargeConstants> prepare(Id device, const core::Command& command);

/// Writes one dispatch into a compute encoder. Wants an AutoreleasePool.
void encode(Id encoder, const core::Command& command, const LargeConstants& large_constants);

}  // namespace norite::metal
