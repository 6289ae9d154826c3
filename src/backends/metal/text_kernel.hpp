// SPDX-License-Identifier: MIT
#pragma once

#include "backends/metal/objc.hpp"
#include "core/pipeline.hpp"

namespace norite::metal {

/// A kernel that Metal compiled from text.
class TextKernel final : public core::PipelineState {
 public:
  /// Errors: compile_failed with the log, whose lines are the user's; not_found, unsupported,
  /// invalid_argument as other backends have them. Wants an AutoreleasePool.
  [[nodiscard]] static Result<std::shared_ptr<const core::PipelineState>> make(
      std::shared_ptr<const core::Backend> backend, Id device, const core::KernelSource& source,
      const KernelId& id);

  [[nodiscard]] Id pipeline() const noexcept { return pipeline_; }
  /// Threadgroup memory that the kernel's own variables take.
  [[nodiscard]] int64_t static_bytes() const noexcept { return static_bytes_; }

 private:
  TextKernel(std::shared_ptr<const core::Backend> backend, std::string name,
             std::vector<Parameter> parameters, core::GridRules rules, Object pipeline,
             int64_t static_bytes)
      : PipelineState(std::move(backend), std::move(name), std::move(parameters), {},
                      std::move(rules)),
        pipeline_(std::move(pipeline)),
        static_bytes_(static_bytes) {}

  Object pipeline_;
  int64_t static_bytes_;
};

}  // namespace norite::metal
