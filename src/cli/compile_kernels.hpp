// SPDX-License-Identifier: MIT
#pragma once

#include "cases/case.hpp"

#include <vector>

namespace norite::cli {

/// Has the kernels of these cases compiled side by side, where the device runs kernel text, and
/// says on stderr that it does, unless all of them are in the cache or `quiet`. What fails here
/// fails again, with its message, when the case runs.
void compile_kernels(const Device& device, const std::vector<const cases::Case*>& rows, bool quiet);

}  // namespace norite::cli
