// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/cuda/context.hpp"

namespace norite::cuda {

/// Whatever is put on it happens in that order. A device has one; graphs are captured on others.
class Stream {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Stream>> create(std::shared_ptr<Context> context);
  /// One of the caller's, which outlives this.
  [[nodiscard]] static std::shared_ptr<Stream> borrow(std::shared_ptr<Context> context,
                                                      CUstream handle);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] Context& context() const noexcept { return *context_; }
  [[nodiscard]] const std::shared_ptr<Context>& shared_context() const noexcept { return context_; }
  [[nodiscard]] const Driver& driver() const noexcept { return context_->driver(); }
  [[nodiscard]] CUstream handle() const noexcept { return handle_; }
  /// Whether nobody else puts anything on it.
  [[nodiscard]] bool own() const noexcept { return own_; }
  /// Waits until everything on it has ended.
  [[nodiscard]] Result<void> synchronise() const;
  /// The same, for callers that are told of an error by the next call, or are there no longer.
  void settle() const;

 private:
  Stream(std::shared_ptr<Context> context, CUstream handle, bool own)
      : context_(std::move(context)), handle_(handle), own_(own) {}

  std::shared_ptr<Context> context_;
  CUstream handle_;
  bool own_;
};

}  // namespace norite::cuda
