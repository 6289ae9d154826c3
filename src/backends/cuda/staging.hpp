// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <span>

#include "backends/cuda/events.hpp"
#include "backends/cuda/pinned.hpp"

namespace norite::cuda {

/// Copies between any host memory and the GPU, through two pieces of pinned memory: while the GPU
/// copies one, the host copies the other. In the stream's order. May be shared between threads.
class Staging {
 public:
  explicit Staging(std::shared_ptr<Stream> stream)
      : stream_(std::move(stream)), events_(stream_, CU_EVENT_DEFAULT) {}
  ~Staging();

  /// Returns when the source has been read; the copy on the GPU's side may come later.
  [[nodiscard]] Result<void> upload(CUdeviceptr target, std::span<const std::byte> source);
  /// Returns when the target has been written.
  [[nodiscard]] Result<void> download(std::span<std::byte> target, CUdeviceptr source);

 private:
  struct Piece {
    std::optional<Pinned> memory;
    CUevent copied = nullptr;  // after the last copy of it
  };
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> wait(Piece& piece);
  [[nodiscard]] Result<void> mark(Piece& piece);

  std::shared_ptr<Stream> stream_;
  Events events_;
  std::mutex mutex_;
  std::array<Piece, 2> pieces_;
};

}  // namespace norite::cuda
