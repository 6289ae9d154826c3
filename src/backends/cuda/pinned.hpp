// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include "backends/cuda/stream.hpp"

namespace norite::cuda {

/// Host memory that stays in place, so that the GPU copies it by itself.
class Pinned {
 public:
  [[nodiscard]] static Result<Pinned> allocate(std::shared_ptr<Stream> stream, size_t bytes) {
    void* data = nullptr;
    NORITE_TRY(stream->context().check(stream->driver().cuMemAllocHost_v2(&data, bytes),
                                       "memory for copies to and from the GPU"));
    return Pinned(std::move(stream), static_cast<std::byte*>(data));
  }
  Pinned(Pinned&& other) noexcept
      : stream_(std::move(other.stream_)), data_(std::exchange(other.data_, nullptr)) {}
  Pinned& operator=(Pinned&&) = delete;
  ~Pinned() {
    if (data_ == nullptr) return;
    const Current current(stream_->context());
    stream_->driver().cuMemFreeHost(data_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  Pinned(std::shared_ptr<Stream> stream, std::byte* data)
      : stream_(std::move(stream)), data_(data) {}

  std::shared_ptr<Stream> stream_;
  std::byte* data_;
};

}  // namespace norite::cuda
