// SPDX-License-Identifier: MIT
// Kernel text as a kernel of the CPU device.
#pragma once

#include <memory>

#include "core/object_cache.hpp"
#include "core/pipeline.hpp"
#include "norite/device.hpp"

namespace norite::cpu::msl {

/// Reads, lowers and compiles the kernel that `id` names. Errors: not_found (no such entry),
/// compile_failed with the log, unsupported (no clang, or a construct that cannot run here).
[[nodiscard]] Result<std::shared_ptr<const core::PipelineState>> compile_text(
    std::shared_ptr<const core::Backend> backend, const core::ObjectCache& cache,
    const core::KernelSource& source, const KernelId& id, const DeviceOptions& options);

}  // namespace norite::cpu::msl
