// SPDX-License-Identifier: MIT
// The built-in kernels of the CPU backend, each compiled for every SIMD level.
#pragma once

#include "backends/cpu/simd/level.hpp"
#include "norite/native_kernel.hpp"

namespace norite::cpu {

using KernelFunction = Result<void> (*)(const NativeCall&);

// Each returns its kernel for one SIMD level. Argument positions and constants: kernels/*/params.h.
KernelFunction rms_norm(const SimdLevel& level);
KernelFunction rms_norm_backward(const SimdLevel& level);
KernelFunction sum_partials(const SimdLevel& level);
KernelFunction fused_head_norm_rope(const SimdLevel& level);
KernelFunction fused_head_norm_rope_backward(const SimdLevel& level);
KernelFunction elementwise(const SimdLevel& level);
KernelFunction flash_attn_train_bwd_compute_d(const SimdLevel& level);

}  // namespace norite::cpu
