// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <vector>

#include "backends/cuda/stream.hpp"

namespace norite::cuda {

/// Events to use again: making one takes longer than a launch. May be shared between threads.
class Events {
 public:
  /// `flags` are CU_EVENT_…
  Events(std::shared_ptr<Stream> stream, unsigned flags)
      : stream_(std::move(stream)), flags_(flags) {}
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// An event that is recorded now: on the stream they were made for, or on another of its context.
  [[nodiscard]] Result<CUevent> record() { return record(*stream_); }
  [[nodiscard]] Result<CUevent> record(const Stream& stream);
  void give_back(CUevent event);

 private:
  [[nodiscard]] Result<CUevent> take();

  std::shared_ptr<Stream> stream_;
  unsigned flags_;
  std::mutex mutex_;
  std::vector<CUevent> free_;
};

}  // namespace norite::cuda
