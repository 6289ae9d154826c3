// SPDX-License-Identifier: MIT
// Kernel text as a kernel of a CUDA device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cuda/compile.hpp"
#include "backends/cuda/kernel_module.hpp"
#include "core/command_list.hpp"
#include "core/pipeline.hpp"
#include "msl/lower_nvrtc.hpp"

namespace norite::cuda {

/// A compiled kernel and how its entry takes its buffers.
struct KernelForm {
  std::shared_ptr<const KernelModule> module;
  std::vector<msl::NvrtcParameter> buffers;  // in the entry's order
  bool cooperative = false;                  // its groups wait for each other
  bool waits_for_turn = false;               // for the kernel ahead of it in the stream

  /// Whether the entry takes the bytes themselves.
  [[nodiscard]] bool by_value(const msl::NvrtcParameter& buffer) const;
};

class TextKernel final : public core::PipelineState {
 public:
  /// Reads, lowers and compiles the kernel that `id` names. Errors: not_found (no such entry),
  /// compile_failed with the log, unsupported (a construct that cannot run here).
  [[nodiscard]] static Result<std::shared_ptr<const core::PipelineState>> make(
      std::shared_ptr<const core::Backend> backend, std::shared_ptr<Context> context,
      std::shared_ptr<const Compiler> compiler, const core::KernelSource& source,
      const KernelId& id);

  /// The form that suits a dispatch: where memory is bound to a reference whose constants would
  /// travel with the launch, another one, compiled at the first such dispatch.
  [[nodiscard]] Result<const KernelForm*> form_for(const core::Command& command) const;

 private:
  struct Origin {
    std::shared_ptr<Context> context;
    std::shared_ptr<const Compiler> compiler;
    core::KernelSource source;
    KernelId id;
  };
  struct Read;  // what the text says, once it is read
  [[nodiscard]] static Result<Read> read(const core::KernelSource& source, const KernelId& id);
  [[nodiscard]] static Result<KernelForm> compile(const Origin& origin, const Read& read,
                                                  msl::References references);

  TextKernel(std::shared_ptr<const core::Backend> backend, Origin origin, KernelForm form,
             std::vector<Parameter> parameters, core::GridRules rules);

  Origin origin_;
  KernelForm by_value_;
  mutable std::mutex mutex_;
  mutable std::optional<Result<KernelForm>> by_pointer_;
};

}  // namespace norite::cuda
