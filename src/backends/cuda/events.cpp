// SPDX-License-Identifier: MIT
#include "backends/cuda/events.hpp"

namespace norite::cuda {

Events::~Events() {
  const Current current(stream_->context());
  for (CUevent event : free_) stream_->driver().cuEventDestroy_v2(event);
}

Result<CUevent> Events::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      CUevent event = free_.back();
      free_.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  NORITE_TRY(
      stream_->context().check(stream_->driver().cuEventCreate(&event, flags_), "making an event"));
  return event;
}

Result<CUevent> Events::record(const Stream& stream) {
  NORITE_TRY_ASSIGN(CUevent event, take());
  const CUresult error = stream.driver().cuEventRecord(event, stream.handle());
  if (error == CUDA_SUCCESS) return event;
  give_back(event);
  NORITE_TRY(stream_->context().check(error, "recording an event"));
  return event;
}

void Events::give_back(CUevent event) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(event);
}

}  // namespace norite::cuda
