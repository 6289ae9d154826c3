// SPDX-License-Identifier: MIT
#include "backends/cpu/thread_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace norite::cpu {
namespace {

/// A call whose weights are all one value, and how often they were written.
class Call {
 public:
  explicit Call(float value, size_t size = 64) : value_(value), size_(size) {}

  void expect_here() {
    const float* const weights = weights_.here(size_, [this](float* out) {
      ++expanded;
      std::fill_n(out, size_, value_);
    });
    EXPECT_TRUE(std::all_of(weights, weights + size_, [&](float w) { return w == value_; }));
  }
  int expanded = 0;

 private:
  float value_;
  size_t size_;
  ThreadWeights weights_;
};

TEST(ThreadWeights, are_written_once_in_a_call) {
  Call call(1);
  for (int range = 0; range < 3; ++range) call.expect_here();
  EXPECT_EQ(call.expanded, 1);
}

TEST(ThreadWeights, are_written_by_every_thread) {
  Call call(1);
  call.expect_here();
  std::thread([&] { call.expect_here(); }).join();
  EXPECT_EQ(call.expanded, 2);
}

TEST(ThreadWeights, of_calls_that_take_turns_are_told_apart) {
  Call small(1), large(2, 1 << 16), other(3);
  for (int turn = 0; turn < 3; ++turn) {
    for (Call* const call : {&small, &large, &other}) call->expect_here();
  }
  EXPECT_EQ(small.expanded + large.expanded + other.expanded, 9);
}

TEST(ThreadWeights, half_written_ones_are_written_again) {
  ThreadWeights weights;
  const auto fails = [](float*) { throw std::runtime_error("half"); };
  EXPECT_THROW(weights.here(64, fails), std::runtime_error);
  EXPECT_EQ(*weights.here(64, [](float* out) { *out = 5; }), 5);
}

}  // namespace
}  // namespace norite::cpu
