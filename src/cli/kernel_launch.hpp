// SPDX-License-Identifier: MIT
#pragma once

#include "cli/kernel.hpp"
#include "cli/kernel_argument.hpp"

#include <norite/kernel_text.hpp>

#include <map>

namespace norite::cli {

/// A dispatch that fits its kernel's signature.
struct Launch {
  KernelInfo kernel;
  Grid grid;
  std::map<int64_t, ArgumentSpec> arguments;  ///< by [[buffer(index)]]
  std::map<int64_t, std::string> saves;       ///< paths by [[buffer(index)]]
  FunctionConstants constants;
};

/// Errors: invalid_argument with what the kernel has instead, bad_file for a file without kernels.
Result<Launch> plan_launch(const KernelOptions& options, const KernelFileInfo& file);

/// Whether the device runs groups of that size. Errors: invalid_argument.
Result<void> check_limits(const Launch& launch, const DeviceInfo& device);

}  // namespace norite::cli
