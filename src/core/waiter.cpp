// SPDX-License-Identifier: MIT
#include "core/waiter.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace norite::core {

struct Waiter::State {
  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !jobs.empty(); });
      if (jobs.empty()) return;  // stopping, and every job has run
      Job job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // what it held goes before it counts as ended
      lock.lock();
      ++ended;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  uint64_t posted = 0, ended = 0;
  bool stopping = false;
};

Waiter::Waiter() : state_(std::make_shared<State>()) {}

Waiter::~Waiter() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Waiter::post(Job job) {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->jobs.push_back(std::move(job));
    ++state_->posted;
    if (!thread_.joinable()) thread_ = std::thread([state = state_] { state->serve(); });
  }
  state_->changed.notify_all();
}

void Waiter::drain() {
  std::unique_lock lock(state_->mutex);
  if (thread_.get_id() == std::this_thread::get_id()) return;
  const uint64_t last = state_->posted;
  state_->changed.wait(lock, [&] { return state_->ended >= last; });
}

}  // namespace norite::core
