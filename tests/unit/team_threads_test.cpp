// SPDX-License-Identifier: MIT
// Helpers that come, stay, leave and are sent away while jobs are shared with them.
#include "backends/cpu/team.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unit/together.hpp"

namespace norite::cpu {
namespace {

using namespace std::chrono_literals;
using test::together;

constexpr auto kStays = 60s;  // longer than any test
constexpr auto kDeadline = 30s;

/// Calls step() until done() or the deadline.
template <class Done, class Step>
bool comes_about(const Done& done, const Step& step) {
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  while (!done() && std::chrono::steady_clock::now() < until) step();
  return done();
}

void expect_every_range_once(Team& team, int64_t count) {
  std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
  team.parallel_for(count, [&](size_t i) { ++calls[i]; });
  for (const auto& one : calls) ASSERT_EQ(one, 1);
}

bool gathers(Team& team) {
  return comes_about([&] { return team.waiting() == 1; },
                     [&] { expect_every_range_once(team, 4); });
}

class TeamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs a second core";
  }

  Team team_{2, kStays};
};

TEST_F(TeamTest, calls_every_range_once_with_helpers_and_without) {
  for (const int64_t count : {0, 1, 2, 3, 7, 16, 17, 100}) {
    team_.dismiss();
    expect_every_range_once(team_, count);
    ASSERT_TRUE(gathers(team_));
    expect_every_range_once(team_, count);
  }
}

TEST_F(TeamTest, bodies_of_any_size_are_called) {
  for (const bool helped : {false, true}) {
    if (helped) {
      ASSERT_TRUE(gathers(team_));
    }
    std::array<int64_t, 16> seen = {};
    const auto expect_seen = [&](int64_t step) {
      for (int64_t i = 0; i < 16; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], i * step);
    };
    team_.parallel_for(16, [out = seen.data()](int64_t i) { out[i] = i; });
    expect_seen(1);
    const std::array<int64_t, 16> steps = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    team_.parallel_for(
        16, [out = seen.data(), steps](size_t i) { out[i] = static_cast<int64_t>(i) * steps[i]; });
    expect_seen(2);
    const std::vector<int64_t> owned(16, 3);
    team_.parallel_for(
        16, [out = seen.data(), owned](size_t i) { out[i] = static_cast<int64_t>(i) * owned[i]; });
    expect_seen(3);
  }
}

TEST_F(TeamTest, a_helper_takes_the_second_part) {
  ASSERT_TRUE(gathers(team_));
  for (int job = 0; job < 100; ++job) {
    std::array<std::thread::id, 2> threads;
    std::barrier both(2);  // neither part ends before the other has begun
    team_.parallel_for(2, [&](size_t i) {
      threads[i] = std::this_thread::get_id();
      both.arrive_and_wait();
    });
    ASSERT_EQ(threads[0], std::this_thread::get_id());
    ASSERT_NE(threads[1], threads[0]);
  }
}

TEST_F(TeamTest, a_helper_leaves_when_no_job_comes) {
  Team team(2, 2ms);
  ASSERT_TRUE(gathers(team));
  EXPECT_TRUE(comes_about([&] { return team.waiting() == 0; }, [] { std::this_thread::yield(); }));
  expect_every_range_once(team, 4);
}

TEST_F(TeamTest, jobs_far_apart_invite_nobody) {
  Team team(2, 50ms);  // long enough for one that was invited to be seen
  for (int job = 0; job < 4; ++job) {
    expect_every_range_once(team, 4);
    std::this_thread::sleep_for(10ms);
    ASSERT_EQ(team.waiting(), 0);
    std::this_thread::sleep_for(60ms);
  }
}

TEST_F(TeamTest, much_work_and_tasks_send_helpers_away) {
  ASSERT_TRUE(gathers(team_));
  expect_every_range_once(team_, kFewRanges + 1);
  EXPECT_EQ(team_.waiting(), 0);
  ASSERT_TRUE(gathers(team_));
  team_.rest_during([&] {
    for (int job = 0; job < 10; ++job) expect_every_range_once(team_, 4);
    EXPECT_EQ(team_.waiting(), 0) << "not invited either";
  });
  EXPECT_TRUE(gathers(team_));
}

TEST_F(TeamTest, what_a_body_throws_reaches_the_caller_when_all_have_ended) {
  for (const bool helped : {false, true}) {
    for (const size_t thrower : {0, 3}) {
      if (helped) {
        ASSERT_TRUE(gathers(team_));
      }
      if (!helped) team_.dismiss();
      std::atomic<int> running = 0;
      const auto throw_one = [&](size_t i) {
        ++running;
        const AtEnd ended{[&] { --running; }};
        if (i == thrower) throw std::runtime_error("thrown");
        std::this_thread::sleep_for(1ms);
      };
      EXPECT_THROW(team_.parallel_for(4, throw_one), std::runtime_error);
      EXPECT_EQ(running, 0);
      expect_every_range_once(team_, 4);
    }
  }
}

TEST_F(TeamTest, two_that_throw_are_one_exception) {
  ASSERT_TRUE(gathers(team_));
  EXPECT_THROW(team_.parallel_for(2, [](int64_t i) { throw i; }), int64_t);
  expect_every_range_once(team_, 4);
}

TEST_F(TeamTest, calls_inside_a_body_are_shared_by_tbb) {
  for (int job = 0; job < 200; ++job) {
    std::atomic<int> calls = 0;
    team_.parallel_for(4, [&](int64_t) { team_.parallel_for(4, [&](int64_t) { ++calls; }); });
    ASSERT_EQ(calls, 16);
  }
}

TEST_F(TeamTest, many_threads_call_at_once) {
  together([&](int) {
    for (int job = 0; job < 200; ++job) {
      expect_every_range_once(team_, 1 + job % 20);
    }
  });
}

// Helpers leave and are sent away at any moment: between the look and the call, and before they
// begin.
TEST_F(TeamTest, nothing_is_lost_when_helpers_come_and_go) {
  Team team(2, 5us);
  std::atomic<bool> stop = false;
  std::thread dismisses([&] {
    while (!stop) team.dismiss();
  });
  for (int job = 0; job < 5000; ++job) expect_every_range_once(team, 2 + job % 15);
  stop = true;
  dismisses.join();
}

TEST_F(TeamTest, may_end_while_helpers_wait_or_are_on_their_way) {
  for (int i = 0; i < 200; ++i) {
    Team team(2, kStays);
    for (int job = 0; job < 3; ++job) expect_every_range_once(team, 4);
  }
}

TEST_F(TeamTest, one_thread_alone_does_it_all) {
  Team single(1);
  for (int job = 0; job < 100; ++job) expect_every_range_once(single, 4);
  EXPECT_EQ(single.waiting(), 0);
}

TEST_F(TeamTest, more_helpers_than_come_are_no_hindrance) {
  Team large(16, 1ms);
  for (int job = 0; job < 2000; ++job) expect_every_range_once(large, 1 + job % 16);
}

}  // namespace
}  // namespace norite::cpu
