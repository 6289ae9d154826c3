// SPDX-License-Identifier: MIT
#pragma once

#include "cli/kernel.hpp"

#include <norite/kernel_text.hpp>

namespace norite::cli {

/// The kernel that --entry names, or the only one. Errors: invalid_argument with the names there
/// are and the nearest of them, bad_file for a file without kernels.
Result<KernelInfo> find_entry(const KernelOptions& options, const KernelFileInfo& file);

}  // namespace norite::cli
