// SPDX-License-Identifier: MIT
#include "core/completion.hpp"

namespace norite::core {

void Completion::complete(Result<void> result, std::vector<DispatchTiming> timings) {
  {
    const std::scoped_lock lock(mutex_);
    result_ = std::move(result);
    timings_ = std::move(timings);
    done_ = true;
  }
  changed_.notify_all();
}

Result<void> Completion::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
  return result_;
}

bool Completion::done() const {
  const std::scoped_lock lock(mutex_);
  return done_;
}

std::vector<DispatchTiming> Completion::timings() const {
  const std::scoped_lock lock(mutex_);
  return timings_;
}

}  // namespace norite::core

namespace norite {

Result<void> Event::wait() const {
  if (!completion_) return fail(Code::failed_precondition, "event: no work was submitted");
  return completion_->wait();
}

bool Event::done() const { return completion_ && completion_->done(); }

}  // namespace norite
