// SPDX-License-Identifier: MIT
// Which commands become one task of the CPU's threads. A graph of several tasks has one more, which
// the others wait for.
#include "backends/cpu/task_graph.hpp"

#include "core/recording.hpp"
#include "norite/norite.hpp"
#include "support.hpp"

namespace norite::cpu {
namespace {

using test::must;

constexpr int64_t kMany = int64_t{1} << 16, kFew = 1 << 8;  // floats

class TaskGraphTest : public ::testing::Test {
 protected:
  [[nodiscard]] View floats(int64_t count) const {
    return must(device_.empty(DType::f32, {count}));
  }
  /// Copies from one fresh view to the next; gives the last.
  View chain(View from, int steps) {
    for (int i = 0; i < steps; ++i) {
      const View to = floats(from.count());
      must(ops::copy(encoder_, {.x = from, .y = to}));
      from = to;
    }
    return from;
  }
  size_t tasks() {
    commands_ = must(core::Recording::take(encoder_));
    return TaskGraph(commands_).tasks();
  }

  Device device_ = test::cpu_device(2);
  Encoder encoder_ = core::Recording::begin(device_, std::make_shared<core::CaptureSession>());
  std::vector<core::Command> commands_;
};

TEST_F(TaskGraphTest, nothing_side_by_side_is_one_task) {
  chain(floats(kMany), 10);
  EXPECT_EQ(tasks(), 1u);
}

TEST_F(TaskGraphTest, an_empty_list_is_one_task) { EXPECT_EQ(tasks(), 1u); }

TEST_F(TaskGraphTest, residual_connections_do_not_end_a_chain) {
  View x = floats(kMany);
  for (int i = 0; i < 4; ++i) {
    const View y = chain(x, 20), sum = floats(kMany);
    must(ops::add(encoder_, {.a = x, .b = y, .y = sum}));
    x = sum;
  }
  EXPECT_EQ(tasks(), 1u);
}

TEST_F(TaskGraphTest, independent_chains_are_tasks) {
  chain(floats(kMany), 10);
  chain(floats(kMany), 3);
  EXPECT_EQ(tasks(), 3u);
}

TEST_F(TaskGraphTest, forks_and_joins_begin_tasks) {
  const View x = chain(floats(kMany), 2), sum = floats(kMany);
  must(ops::add(encoder_, {.a = chain(x, 2), .b = chain(x, 3), .y = sum}));
  chain(sum, 2);
  EXPECT_EQ(tasks(), 4u);  // before the fork, two, after the join
}

TEST_F(TaskGraphTest, a_fence_joins_what_lies_before) {
  chain(floats(kMany), 2);
  chain(floats(kMany), 2);
  must(encoder_.fence());
  chain(floats(kMany), 2);
  EXPECT_EQ(tasks(), 4u);
}

TEST_F(TaskGraphTest, few_bytes_in_all_are_one_task) {
  chain(floats(kMany), 1);
  chain(floats(kMany), 1);
  EXPECT_EQ(tasks(), 1u);
}

TEST_F(TaskGraphTest, few_bytes_at_a_time_are_one_task) {
  View x = floats(kFew);
  for (int block = 0; block < 100; ++block) {
    const View sum = floats(kFew);
    chain(x, 3);  // nobody waits for it
    must(ops::add(encoder_, {.a = chain(x, 2), .b = chain(x, 3), .y = sum}));
    x = sum;
  }
  EXPECT_EQ(tasks(), 1u);
}

TEST_F(TaskGraphTest, many_bytes_in_few_each_are_some_tasks) {
  constexpr int kEach = 1 << 13;  // 64 KiB read and written
  for (int i = 0; i < 32; ++i) chain(floats(kEach), 1);
  EXPECT_EQ(tasks(), 17u);
}

TEST_F(TaskGraphTest, small_chains_are_not_held_up_by_large_ones) {
  chain(floats(kMany), 4);
  chain(floats(kFew), 4);
  chain(floats(kMany), 4);
  chain(floats(kFew), 4);
  EXPECT_EQ(tasks(), 4u);
}

TEST_F(TaskGraphTest, small_chains_do_not_tie_large_ones_together) {
  for (int part = 0; part < 2; ++part) {
    const View large = chain(floats(kMany), 2);
    const View some = must(large.slice(0, 0, kFew));
    chain(some, 1);
    chain(some, 1);
  }
  EXPECT_EQ(tasks(), 3u);  // the first, and each part by itself
}

TEST_F(TaskGraphTest, kernels_of_the_users_are_worth_a_task) {
  const Pipeline kernel = test::idle_kernel(device_, "of_the_users", {{"y", Access::write}});
  for (int i = 0; i < 2; ++i) {
    must(encoder_.dispatch(kernel, std::array<Argument, 1>{floats(kFew)}));
  }
  EXPECT_EQ(tasks(), 3u);
}

}  // namespace
}  // namespace norite::cpu
