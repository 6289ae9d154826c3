// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "backends/cuda/pinned.hpp"

namespace norite::cuda {

/// Constants that a kernel takes by pointer, in memory of the GPU: a ring that copies follow each
/// other in. It belongs to whoever puts work on a stream, one thread at a time.
class ConstantRing {
 public:
  explicit ConstantRing(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~ConstantRing();
  ConstantRing(const ConstantRing&) = delete;
  ConstantRing& operator=(const ConstantRing&) = delete;

  static constexpr size_t kBytes = size_t{1} << 20;

  /// Copies constants on a stream: where they are for what follows there, until the ring has gone
  /// round, when it waits for its own stream.
  [[nodiscard]] Result<CUdeviceptr> place(const Stream& stream,
                                          std::span<const std::byte> constants);

 private:
  [[nodiscard]] Result<void> prepare();

  std::shared_ptr<Stream> stream_;
  std::optional<Pinned> host_;
  CUdeviceptr device_ = 0;
  size_t used_ = 0;
};

}  // namespace norite::cuda
