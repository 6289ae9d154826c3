// SPDX-License-Identifier: MIT
// From lowered kernel text to something that runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/cpu/msl/kernel_object.hpp"
#include "core/object_cache.hpp"

namespace norite::cpu::msl {

/// Compiles text that defines `norite_msl_entry`, or takes the object from the cache. `kernel`
/// names it in errors. The cache must outlive the object where its folder is temporary.
Result<std::shared_ptr<KernelObject>> compile(const core::ObjectCache& cache,
                                              std::string_view kernel,
                                              std::string_view lowered_text, bool checked);

}  // namespace norite::cpu::msl
