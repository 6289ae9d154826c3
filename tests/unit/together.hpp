// SPDX-License-Identifier: MIT
#pragma once

#include <barrier>
#include <thread>
#include <vector>

namespace norite::test {

inline constexpr int kThreads = 16;

/// Calls body(thread) on 16 threads that start together, and returns when all have ended.
template <class Body>
void together(const Body& body) {
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      body(thread);
    });
  }
  for (std::thread& one : threads) one.join();
}

}  // namespace norite::test
