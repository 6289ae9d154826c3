// SPDX-License-Identifier: MIT
#include "backends/cuda/stream.hpp"

namespace norite::cuda {

// Non-blocking: it does not wait for work that others put on the default stream.
Result<std::shared_ptr<Stream>> Stream::create(std::shared_ptr<Context> context) {
  const Current current(*context);
  CUstream handle = nullptr;
  NORITE_TRY(context->check(context->driver().cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING),
                            "making a stream"));
  return std::shared_ptr<Stream>(new Stream(std::move(context), handle, true));
}

std::shared_ptr<Stream> Stream::borrow(std::shared_ptr<Context> context, CUstream handle) {
  return std::shared_ptr<Stream>(new Stream(std::move(context), handle, false));
}

Stream::~Stream() {
  if (!own_) return;
  const Current current(*context_);
  driver().cuStreamDestroy_v2(handle_);
}

void Stream::settle() const { driver().cuStreamSynchronize(handle_); }

Result<void> Stream::synchronise() const {
  return context_->check(driver().cuStreamSynchronize(handle_), "waiting for the stream");
}

}  // namespace norite::cuda
