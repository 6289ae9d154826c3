// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <string>

#include "backends/cuda/context.hpp"
#include "msl/shim/abi.h"

namespace norite::cuda {

/// A compiled kernel in the GPU's memory.
class KernelModule {
 public:
  /// `image` is what NVRTC made. The context is current.
  [[nodiscard]] static Result<std::shared_ptr<const KernelModule>> load(
      std::shared_ptr<Context> context, const std::string& image);
  ~KernelModule();
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  [[nodiscard]] CUfunction function() const noexcept { return function_; }
  /// The most threads of a block that its registers allow.
  [[nodiscard]] int max_threads() const noexcept { return max_threads_; }
  /// The most dynamic shared memory that its own variables leave.
  [[nodiscard]] int64_t max_dynamic_bytes() const noexcept { return max_dynamic_bytes_; }
  /// The size of what a reference or one element of a pointer names, by buffer index.
  [[nodiscard]] uint64_t buffer_bytes(size_t index) const { return buffer_bytes_[index]; }

 private:
  explicit KernelModule(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  [[nodiscard]] Result<void> find_entry();
  [[nodiscard]] Result<void> allow_shared_memory();
  [[nodiscard]] Result<void> read_buffer_bytes();

  std::shared_ptr<Context> context_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int max_threads_ = 0;
  int64_t max_dynamic_bytes_ = 0;
  std::array<uint64_t, norite_msl::kMaxBuffers> buffer_bytes_ = {};
};

}  // namespace norite::cuda
