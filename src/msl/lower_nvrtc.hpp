// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::msl {

/// How a kernel takes what its reference parameters name, where it only reads it.
enum class References : uint8_t {
  by_value,    // its bytes are launched with the kernel: for constants
  by_pointer,  // as any buffer: for memory of the device
};

/// From this compute capability on, kernels wait themselves for what is ahead of them in the stream
/// (shim/cuda_runtime.h).
inline constexpr int kWaitsForTurn = 90;

/// One parameter of the entry that stands for a buffer.
struct NvrtcParameter {
  enum class Kind : uint8_t { pointer, value };
  unsigned index = 0;  // [[buffer(index)]]
  Kind kind = Kind::pointer;
};

/// The entry's buffers, in its parameters' order (see shim/cuda_abi.h). One of kind `value` takes a
/// pointer all the same where norite_msl_buffer_bytes says more than kMaxValueBytes.
[[nodiscard]] std::vector<NvrtcParameter> nvrtc_parameters(
    const Module& module, const Kernel& kernel, const ConstantValues& constants,
    References references = References::by_value);

/// CUDA C++ with one kernel, `norite_msl_entry` (see shim/cuda_abi.h). Errors: unsupported for a
/// kernel that takes textures and the like.
[[nodiscard]] Result<std::string> lower_for_nvrtc(const Module& module, const Kernel& kernel,
                                                  const ConstantValues& constants,
                                                  References references = References::by_value);

/// What NVRTC must be told besides the architecture. No contraction, no flushed denormals: the same
/// bits as on the CPU wherever only operators and fma are used.
[[nodiscard]] std::span<const std::string_view> nvrtc_options() noexcept;

}  // namespace norite::msl
