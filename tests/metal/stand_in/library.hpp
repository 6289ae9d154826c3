// SPDX-License-Identifier: MIT
#pragma once

#include "metal/stand_in/gpu.hpp"

namespace norite::stand_in {

/// A kernel that the CPU's executor of kernel text runs.
struct Pipeline : Instance {
  Pipeline(norite::Pipeline compiled, KernelInfo kernel_info);
  [[nodiscard]] NSUInteger max_threads() const;
  void die() override;

  norite::Pipeline kernel;
  KernelInfo info;
  int uses = 0;  // by command buffers that have not ended and do not hold it
};

// Methods of MTLDevice.
Id new_library(Gpu* self, Sel, Id source, Id options, Id* error);
Id new_pipeline(Gpu* self, Sel, Id descriptor, NSUInteger options, Id* reflection, Id* error);

}  // namespace norite::stand_in
