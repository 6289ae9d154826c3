// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/cuda/nvrtc.hpp"
#include "core/object_cache.hpp"

namespace norite::cuda {

/// Who compiles for which GPU, and where the results are kept.
struct Compiler {
  std::shared_ptr<const Nvrtc> nvrtc;
  int capability = 0;  // 90 for compute capability 9.0
  core::ObjectCache cache;

  /// Code for the GPU, from the cache where it is there. `kernel` names it in errors. Errors:
  /// compile_failed with the log, whose lines are the user's.
  [[nodiscard]] Result<std::string> compile(std::string_view kernel,
                                            const std::string& lowered_text) const;
};

}  // namespace norite::cuda
