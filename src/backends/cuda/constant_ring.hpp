// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "backends/cuda/pinned.hpp"

namespace norite::cuda {

/// Constants that a kernel takes by pointer, in memory of the GPU: a ring that copies follow each
/// other in. It belongs to whoever puts work on the stream, one thread at a time.
class ConstantRing {
 public:
  explicit ConstantRing(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~ConstantRing();
  ConstantRing(const ConstantRing&) = delete;
  ConstantRing& operator=(const ConstantRing&) = delete;

  static constexpr size_t kBytes = size_t{1} << 20;

  /// Where the constants are for kernels launched next, until the ring has gone round.
  [[nodiscard]] Result<CUdeviceptr> place(std::span<const std::byte> constants);

 private:
  [[nodiscard]] Result<void> prepare();

  std::shared_ptr<Stream> stream_;
  std::optional<Pinned> host_;
  CUdeviceptr device_ = 0;
  size_t used_ = 0;
};

}  // namespace norite::cuda
