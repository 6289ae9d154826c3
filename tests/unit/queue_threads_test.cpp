// SPDX-License-Identifier: MIT
// The order of submits on the CPU device, and what may be dropped, closed or awaited meanwhile.
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <thread>

#include "support.hpp"
#include "unit/together.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;
using test::together;
using namespace std::chrono_literals;

// x = 3 x + c over every element: no two of them commute.
Pipeline affine(const Device& device) {
  return test::native(device, "affine", {{"x", Access::read_write}, {"c", Access::bytes}},
                      [](const NativeCall& call) -> Result<void> {
                        auto* x = call.data<uint32_t>(0);
                        call.parallel_for(call.view(0).count(), 16,
                                          [&](int64_t begin, int64_t end) {
                                            for (int64_t i = begin; i < end; ++i) {
                                              x[i] = 3 * x[i] + call.constants<uint32_t>(1);
                                            }
                                          });
                        return {};
                      });
}

uint32_t affine_of_all_below(uint32_t n) {
  uint32_t x = 0;
  for (uint32_t c = 0; c < n; ++c) x = 3 * x + c;
  return x;
}

Encoder affine_encoder(const Device& device, const Pipeline& kernel, const Buffer& x, uint32_t c) {
  Encoder encoder = device.encoder();
  must(encoder.dispatch(kernel, std::array<Argument, 2>{x, Argument::bytes(c)}));
  return encoder;
}

class QueueTest : public ::testing::TestWithParam<int> {
 protected:
  Device device_ = test::cpu_device(GetParam());
};

INSTANTIATE_TEST_SUITE_P(threads, QueueTest, ::testing::Values(1, 2, 16),
                         ::testing::PrintToStringParamName());

TEST_P(QueueTest, submits_run_one_after_another_and_reads_come_last) {
  const Pipeline kernel = affine(device_);
  const Buffer x = must(device_.empty(DType::u32, {100}));
  for (uint32_t c = 0; c < 200; ++c) must(affine_encoder(device_, kernel, x, c).submit());
  EXPECT_EQ(test::contents<uint32_t>(x), std::vector<uint32_t>(100, affine_of_all_below(200)));
}

TEST_P(QueueTest, waiting_submits_and_others_keep_their_order) {
  const Pipeline kernel = affine(device_);
  const Buffer x = must(device_.empty(DType::u32, {100}));
  for (uint32_t c = 0; c < 200; ++c) {
    Encoder encoder = affine_encoder(device_, kernel, x, c);
    if (c % 5 == 4) {
      must(encoder.submit_and_wait());
    } else {
      must(encoder.submit());
    }
  }
  EXPECT_EQ(test::contents<uint32_t>(x), std::vector<uint32_t>(100, affine_of_all_below(200)));
}

TEST_P(QueueTest, a_write_comes_after_what_was_submitted) {
  const Pipeline kernel = affine(device_);
  Buffer x = must(device_.empty(DType::u32, {1}));
  must(affine_encoder(device_, kernel, x, 5).submit());
  const uint32_t value = 7;
  must(x.write(std::as_bytes(std::span(&value, 1))));
  must(affine_encoder(device_, kernel, x, 1).submit());
  EXPECT_EQ(test::contents<uint32_t>(x)[0], 22U);
}

TEST_P(QueueTest, copies_of_an_event_end_together_and_stay_ended) {
  std::atomic<bool> go = false;
  const Pipeline kernel =
      test::native(device_, "block", {}, [&](const NativeCall&) -> Result<void> {
        go.wait(false);
        return {};
      });
  Encoder encoder = device_.encoder();
  must(encoder.dispatch(kernel, {}));
  const Event event = must(encoder.submit());
  const Event copy = event;
  EXPECT_FALSE(event.done());
  EXPECT_FALSE(copy.done());
  go = true;
  go.notify_all();
  together([&](int) { must(copy.wait()); });
  EXPECT_TRUE(event.done());
  must(event.wait());
  must(encoder.wait());
}

TEST_P(QueueTest, buffers_are_back_in_the_pool_when_the_wait_returns) {
  const Pipeline kernel = affine(device_);
  Pool pool(device_);
  for (int i = 0; i < 200; ++i) {
    std::optional<Buffer> x = must(pool.acquire(DType::u32, {64}));
    Encoder encoder = affine_encoder(device_, kernel, *x, 1);
    x.reset();
    if (i % 2 == 0) {
      must(must(encoder.submit()).wait());
    } else {
      must(encoder.submit_and_wait());
    }
    ASSERT_EQ(pool.statistics().bytes_in_use, 0);
  }
  EXPECT_EQ(pool.statistics().misses, 1);
}

TEST_P(QueueTest, many_threads_share_a_device) {
  const Pipeline kernel = affine(device_);
  together([&](int thread) {
    const Buffer x = must(device_.empty(DType::u32, {100}));
    for (uint32_t c = 0; c < 30; ++c) {
      Encoder encoder = affine_encoder(device_, kernel, x, c);
      if ((static_cast<uint32_t>(thread) + c) % 2 == 0) {
        must(encoder.submit());
      } else {
        must(encoder.submit_and_wait());
      }
    }
    EXPECT_EQ(test::contents<uint32_t>(x), std::vector<uint32_t>(100, affine_of_all_below(30)));
  });
}

TEST_P(QueueTest, many_threads_add_to_one_buffer) {
  const Pipeline kernel = test::native(device_, "add", {{"x", Access::read_write}},
                                       [](const NativeCall& call) -> Result<void> {
                                         ++*call.data<uint32_t>(0);
                                         return {};
                                       });
  const Buffer x = must(device_.empty(DType::u32, {1}));
  together([&](int) {
    for (int i = 0; i < 20; ++i) {
      Encoder encoder = device_.encoder();
      must(encoder.dispatch(kernel, std::array<Argument, 1>{x}));
      must(encoder.submit_and_wait());
    }
  });
  EXPECT_EQ(test::contents<uint32_t>(x)[0], 20U * test::kThreads);
}

TEST_P(QueueTest, everything_may_be_dropped_while_work_is_in_flight) {
  auto runs = std::make_shared<std::atomic<int>>(0);
  Event last;
  {
    const Device device = test::cpu_device(GetParam());
    const Pipeline kernel = test::native(device, "slow", {{"x", Access::read_write}},
                                         [runs](const NativeCall& call) -> Result<void> {
                                           std::this_thread::sleep_for(2ms);
                                           ++*call.data<uint32_t>(0);
                                           ++*runs;
                                           return {};
                                         });
    for (int i = 0; i < 10; ++i) {
      const Buffer x =
          must(i % 2 == 0 ? device.empty(DType::u32, {1}) : device.pool().acquire(DType::u32, {1}));
      Encoder encoder = device.encoder();
      must(encoder.dispatch(kernel, std::array<Argument, 1>{x}));
      last = must(encoder.submit());
    }
  }
  EXPECT_EQ(*runs, 10) << "the last handle waits";
  must(last.wait());
}

TEST_P(QueueTest, a_device_dropped_with_work_that_holds_no_buffer_finishes_it) {
  auto runs = std::make_shared<std::atomic<int>>(0);
  Event last;
  {
    std::optional<Encoder> last_handle;
    const Device device = test::cpu_device(GetParam());
    last_handle = device.encoder();
    const Pipeline kernel =
        test::native(device, "slow", {}, [runs](const NativeCall&) -> Result<void> {
          std::this_thread::sleep_for(2ms);
          ++*runs;
          return {};
        });
    for (int i = 0; i < 10; ++i) {
      Encoder encoder = device.encoder();
      must(encoder.dispatch(kernel, {}));
      last = must(encoder.submit());
    }
  }
  EXPECT_EQ(*runs, 10) << "the last handle waits";
  must(last.wait());
}

TEST_P(QueueTest, the_last_handle_may_go_inside_of_a_kernel) {
  auto handle = std::make_shared<std::optional<Device>>(test::cpu_device(GetParam()));
  std::latch recorded(1);
  Event dropped, last;
  {
    const Pipeline drop = test::native(**handle, "drop", {}, [&, handle](const NativeCall&) {
      recorded.wait();
      handle->reset();
      return Result<void>();
    });
    Encoder encoder = (*handle)->encoder();
    must(encoder.dispatch(drop, {}));
    Encoder nothing = (*handle)->encoder();  // work that holds neither kernel nor buffer
    dropped = must(encoder.submit());
    last = must(nothing.submit());
  }
  recorded.count_down();
  must(dropped.wait());
  must(last.wait());
  EXPECT_EQ(handle.use_count(), 1) << "the device is gone, and its kernels with it";
}

// Nor does the thread wait for itself where its kernel has another device run something.
TEST_P(QueueTest, the_last_handle_may_go_inside_of_a_kernel_that_a_kernel_waits_for) {
  auto handle = std::make_shared<std::optional<Device>>(test::cpu_device(GetParam()));
  const Device other = test::cpu_device(GetParam());
  std::latch recorded(1);
  Event dropped;
  {
    const Pipeline inner = test::native(other, "inner", {}, [handle](const NativeCall&) {
      handle->reset();
      return Result<void>();
    });
    const Pipeline outer = test::native(**handle, "outer", {}, [&, inner](const NativeCall&) {
      recorded.wait();
      Encoder encoder = other.encoder();
      must(encoder.dispatch(inner, {}));
      return encoder.submit_and_wait();
    });
    Encoder encoder = (*handle)->encoder();
    must(encoder.dispatch(outer, {}));
    dropped = must(encoder.submit());
  }
  recorded.count_down();
  must(dropped.wait());
  EXPECT_FALSE(*handle);
}

TEST_P(QueueTest, closing_waits_for_what_was_submitted_then_refuses) {
  std::atomic<int> runs = 0;
  const Pipeline kernel = test::native(device_, "slow", {}, [&](const NativeCall&) -> Result<void> {
    std::this_thread::sleep_for(10ms);
    ++runs;
    return {};
  });
  const Buffer x = must(device_.empty(DType::u32, {1}));
  for (int i = 0; i < 5; ++i) {
    Encoder encoder = device_.encoder();
    must(encoder.dispatch(kernel, {}));
    must(encoder.submit());
  }
  together([&](int) {
    device_.close();
    EXPECT_EQ(runs, 5) << "whoever closes waits";
  });
  expect_error(device_.encoder().submit(), Code::failed_precondition, {"closed"});
  expect_error(device_.encoder().dispatch(kernel, {}), Code::failed_precondition, {"closed"});
  expect_error(device_.empty(DType::u32, {1}), Code::failed_precondition, {"closed"});
  EXPECT_EQ(test::contents<uint32_t>(x)[0], 0U);
}

// What waits for the device's queue cannot end inside a kernel of that queue: whichever of the
// device's threads runs it, the call must return.
class InsideKernelTest : public QueueTest {
 protected:
  void check_inside() {
    Encoder encoder = device_.encoder();
    const auto refused = encoder.submit_and_wait();
    const auto again = encoder.wait();
    const bool right = !refused && refused.error().code == Code::failed_precondition && !again &&
                       again.error().code == Code::failed_precondition;
    right_ += right ? 1 : 0;
    uint32_t value = 0;
    must(x_.read(std::as_writable_bytes(std::span(&value, 1))));
    must(must(device_.empty(DType::u32, {1})).write(std::as_bytes(std::span(&value, 1))));
  }

  Buffer x_ = must(device_.empty(DType::u32, {1}));
  std::atomic<int> right_ = 0;
};

INSTANTIATE_TEST_SUITE_P(threads, InsideKernelTest, ::testing::Values(1, 2, 16),
                         ::testing::PrintToStringParamName());

TEST_P(InsideKernelTest, submit_and_wait_is_refused) {
  const Pipeline kernel =
      test::native(device_, "inside", {}, [&](const NativeCall&) -> Result<void> {
        check_inside();
        return {};
      });
  Encoder caller = device_.encoder();
  must(caller.dispatch(kernel, {}));
  must(caller.submit_and_wait());
  Encoder poster = device_.encoder();
  must(poster.dispatch(kernel, {}));
  must(must(poster.submit()).wait());
  EXPECT_EQ(right_, 2);
}

TEST_P(InsideKernelTest, submit_and_wait_is_refused_on_the_threads_of_independent_dispatches) {
  const Pipeline kernel =
      test::native(device_, "inside", {}, [&](const NativeCall&) -> Result<void> {
        check_inside();
        std::this_thread::sleep_for(1ms);  // so that other threads take some
        return {};
      });
  Encoder encoder = device_.encoder();
  for (int i = 0; i < 32; ++i) must(encoder.dispatch(kernel, {}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(right_, 32);
}

TEST_P(InsideKernelTest, submit_and_wait_is_refused_on_the_threads_of_parallel_ranges) {
  const Pipeline kernel =
      test::native(device_, "inside", {}, [&](const NativeCall& call) -> Result<void> {
        call.parallel_for(32, 1, [&](int64_t, int64_t) {
          check_inside();
          std::this_thread::sleep_for(1ms);
        });
        return {};
      });
  Encoder encoder = device_.encoder();
  must(encoder.dispatch(kernel, {}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(right_, 32);
}

TEST_P(InsideKernelTest, another_device_can_be_waited_for) {
  const Device other = test::cpu_device(GetParam());
  const Pipeline add = affine(other);
  const Buffer y = must(other.empty(DType::u32, {100}));
  const Pipeline kernel =
      test::native(device_, "inside", {}, [&](const NativeCall&) -> Result<void> {
        NORITE_TRY(affine_encoder(other, add, y, 4).submit_and_wait());
        check_inside();  // back in this device's kernel
        return {};
      });
  Encoder encoder = device_.encoder();
  must(encoder.dispatch(kernel, {}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(right_, 1);
  EXPECT_EQ(test::contents<uint32_t>(y), std::vector<uint32_t>(100, 4));
}

TEST_P(InsideKernelTest, submitting_without_waiting_runs_afterwards) {
  const Pipeline add = affine(device_);
  const Pipeline kernel =
      test::native(device_, "inside", {}, [&](const NativeCall&) -> Result<void> {
        NORITE_TRY(affine_encoder(device_, add, x_, 9).submit());
        return {};
      });
  Encoder encoder = device_.encoder();
  must(encoder.dispatch(kernel, {}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(test::contents<uint32_t>(x_)[0], 9U);
}

}  // namespace
}  // namespace norite
