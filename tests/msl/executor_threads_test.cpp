// SPDX-License-Identifier: MIT
// Several dispatches at once: of one kernel, of several, and while one of them is cancelled.
#include "msl/executor_support.hpp"

namespace norite {
namespace {

using test::bind;
using test::expect_error;
using test::kernel;
using test::must;
using test::ThreadsCall;

constexpr const char* kRotate = R"(
  VARIABLE(int[64], a);
  VARIABLE(int[64], b);
  unsigned i = place.index_in_group;
  a[i] = buffer(int, 0)[place.position_in_grid.x];
  barrier(2);
  b[i] = a[(i + 1) % 64] + simd_sum(1);
  barrier(2);
  buffer(int, 0)[place.position_in_grid.x] = b[i];
)";

void rotate_and_check(const cpu::msl::KernelObject& object) {
  std::vector<int> values(64 * 50);
  for (int i = 0; i < 64 * 50; ++i) values[static_cast<size_t>(i)] = i;
  must(cpu::msl::run(object,
                     {.kernel = "rotate",
                      .groups = {50, 1, 1},
                      .threads = {64, 1, 1},
                      .buffers = {bind(0, values)}},
                     ThreadsCall(2)));
  for (int i = 0; i < 64 * 50; ++i) {
    ASSERT_EQ(values[static_cast<size_t>(i)], i / 64 * 64 + (i + 1) % 64 + 32);
  }
}

TEST(ExecutorThreadsTest, dispatches_of_one_kernel_at_once) {
  for (int round = 0; round < 5; ++round) {
    const auto object = kernel(kRotate + std::string("  // ") + std::to_string(round));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { rotate_and_check(*object); });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(ExecutorThreadsTest, cancelling_one_leaves_the_others_alone) {
  const auto object = kernel(kRotate);
  const auto endless = kernel("for (;;) { poll(); barrier(2); }");
  std::thread cancelled([&] {
    expect_error(cpu::msl::run(*endless,
                               {.kernel = "endless",
                                .groups = {100, 1, 1},
                                .threads = {64, 1, 1},
                                .time_limit = std::chrono::milliseconds(100)},
                               ThreadsCall(2)),
                 Code::timeout);
  });
  for (int i = 0; i < 50; ++i) rotate_and_check(*object);
  cancelled.join();
}

TEST(ExecutorThreadsTest, kernels_are_opened_and_closed_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 20; ++round) rotate_and_check(*kernel(kRotate));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace norite
