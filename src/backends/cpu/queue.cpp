// SPDX-License-Identifier: MIT
#include "backends/cpu/queue.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "backends/cpu/inside.hpp"

namespace norite::cpu {

struct Queue::State {
  struct Ticketed {
    uint64_t ticket;
    Job job;
  };

  void run_in_turn(std::unique_lock<std::mutex>& lock, uint64_t ticket, const Job& job) {
    changed.wait(lock, [&] { return turn == ticket; });
    lock.unlock();
    {
      const Inside<State> mark(*this);
      job();
    }
    lock.lock();
    ++turn;
    changed.notify_all();
  }

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !posted.empty(); });
      if (posted.empty()) return;  // stopping, and every posted job has run
      const Ticketed next = std::move(posted.front());
      posted.pop_front();
      run_in_turn(lock, next.ticket, next.job);
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t next_ticket = 0;
  uint64_t turn = 0;
  std::deque<Ticketed> posted;
  bool stopping = false;
};

Queue::Queue() : state_(std::make_shared<State>()) {}

Queue::~Queue() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  if (!thread_.joinable()) return;
  if (running_here()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Queue::post(Job job) {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->posted.push_back({state_->next_ticket++, std::move(job)});
    if (!thread_.joinable()) thread_ = std::thread([state = state_] { state->serve(); });
  }
  state_->changed.notify_all();
}

void Queue::run(const Job& job) {
  std::unique_lock lock(state_->mutex);
  const uint64_t ticket = state_->next_ticket++;
  state_->run_in_turn(lock, ticket, job);
}

bool Queue::running_here() const noexcept { return Inside<State>::of(*state_); }

}  // namespace norite::cpu
