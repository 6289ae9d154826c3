// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/cancellation.hpp"

namespace norite::cpu::msl {

namespace {

std::atomic<unsigned> cancelling_dispatches = 0;

}  // namespace

Cancellation::~Cancellation() {
  if (requested()) cancelling_dispatches.fetch_sub(1, std::memory_order_relaxed);
}

void Cancellation::request() noexcept {
  if (!requested_.exchange(true)) cancelling_dispatches.fetch_add(1, std::memory_order_relaxed);
}

const std::atomic<unsigned>& Cancellation::cancelling() noexcept { return cancelling_dispatches; }

TimeLimit::TimeLimit(std::chrono::milliseconds limit, Cancellation& cancellation) {
  if (limit.count() <= 0) return;
  watcher_ =
      std::thread([this, &cancellation, deadline = std::chrono::steady_clock::now() + limit] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_until(lock, deadline, [this] { return over_; })) cancellation.request();
      });
}

TimeLimit::~TimeLimit() {
  if (!watcher_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  watcher_.join();
}

}  // namespace norite::cpu::msl
