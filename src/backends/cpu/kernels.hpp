// SPDX-License-Identifier: MIT
// The built-in kernels of the CPU backend, each compiled for every SIMD level.
#pragma once

#include "backends/cpu/processor.hpp"
#include "norite/native_kernel.hpp"

namespace norite::cpu {

using KernelFunction = Result<void> (*)(const NativeCall&);

// Each returns its kernel for one processor. Argument positions and constants: kernels/*/params.h.
KernelFunction rms_norm(const Processor& processor);
KernelFunction rms_norm_backward(const Processor& processor);
KernelFunction sum_partials(const Processor& processor);
KernelFunction fused_head_norm_rope(const Processor& processor);
KernelFunction fused_head_norm_rope_backward(const Processor& processor);
KernelFunction elementwise(const Processor& processor);
KernelFunction flash_attn_train_bwd_compute_d(const Processor& processor);

}  // namespace norite::cpu
