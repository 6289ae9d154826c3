// SPDX-License-Identifier: MIT
#include "core/completion.hpp"

namespace norite::core {

void Completion::complete(Result<void> result, std::vector<DispatchTiming> timings,
                          std::vector<Command> commands) {
  std::unique_lock lock(mutex_);
  result_ = std::move(result);
  timings_ = std::move(timings);
  commands_ = std::move(commands);
  stage_ = Stage::ended;
  if (waiting_ == 0) release(lock);
  changed_.notify_all();
}

void Completion::release(std::unique_lock<std::mutex>& lock) {
  stage_ = Stage::releasing;
  lock.unlock();
  commands_ = {};
  lock.lock();
  stage_ = Stage::done;
}

Result<void> Completion::wait() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.wait(lock, [this] { return stage_ == Stage::ended || stage_ == Stage::done; });
  --waiting_;
  if (stage_ == Stage::ended) {
    release(lock);
    changed_.notify_all();
  }
  return result_;
}

bool Completion::done() const {
  const std::scoped_lock lock(mutex_);
  return stage_ == Stage::done;
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
