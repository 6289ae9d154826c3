// SPDX-License-Identifier: MIT
// Whoever hears of the end of work finds its buffers free.
#include "core/completion.hpp"

#include <chrono>
#include <thread>

#include "core/storage.hpp"
#include "support.hpp"
#include "unit/together.hpp"

namespace norite::core {
namespace {

using test::must;

class CompletionTest : public ::testing::Test {
 protected:
  // Commands that hold the only handles on a buffer, which `held_` follows.
  std::vector<Command> commands() {
    const Buffer buffer = must(device_.empty(DType::f32, {4}));
    held_ = buffer.storage();
    Command command;
    command.arguments = {buffer, Argument()};
    return std::vector<Command>(3, command);
  }

  Device device_ = test::null_device();
  std::weak_ptr<Storage> held_;
  Completion completion_;
};

TEST_F(CompletionTest, where_nobody_waits_buffers_go_before_the_work_counts_as_done) {
  completion_.complete({}, {}, commands());
  EXPECT_TRUE(held_.expired());
  EXPECT_TRUE(completion_.done());
  must(completion_.wait());
}

TEST_F(CompletionTest, everyone_who_waits_finds_the_buffers_free) {
  auto list = commands();
  test::together([&](int thread) {
    if (thread == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // most of the others wait by then
      completion_.complete({}, {}, std::move(list));
      return;
    }
    must(completion_.wait());
    EXPECT_TRUE(held_.expired());
    EXPECT_TRUE(completion_.done());
  });
}

TEST_F(CompletionTest, everyone_who_waits_hears_the_error) {
  std::thread end(
      [&] { completion_.complete(fail(Code::execution_failed, "it broke"), {}, commands()); });
  for (int i = 0; i < 2; ++i) test::expect_error(completion_.wait(), Code::execution_failed);
  end.join();
}

}  // namespace
}  // namespace norite::core
