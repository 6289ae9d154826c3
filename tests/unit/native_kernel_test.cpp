// SPDX-License-Identifier: MIT
// Kernels of a user on the CPU device: their data, their threads, their failures.
#include "norite/native_kernel.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;

const std::vector<Parameter> kReadWrite = {{"x", Access::read}, {"y", Access::write}};

// y = x + 1, to see whether a dispatch has run.
NativeFunction increment() {
  return [](const NativeCall& call) -> Result<void> {
    *call.data<int32_t>(1) = *call.data<int32_t>(0) + 1;
    return {};
  };
}

class NativeKernelTest : public ::testing::TestWithParam<int> {
 protected:
  Device device_ = test::cpu_device(GetParam());
};

INSTANTIATE_TEST_SUITE_P(threads, NativeKernelTest, ::testing::Values(1, 2, 16),
                         ::testing::PrintToStringParamName());

TEST_P(NativeKernelTest, sees_its_views_constants_and_grid) {
  struct Scale {
    int32_t factor, shift;
  };
  const Pipeline kernel =
      test::native(device_, "scale",
                   {{"x", Access::read},
                    {"missing", Access::read, true},
                    {"y", Access::write},
                    {"params", Access::bytes}},
                   [](const NativeCall& call) -> Result<void> {
                     if (call.arguments().size() != 4 || call.data<int32_t>(1) != nullptr) {
                       return fail(Code::internal, "the optional argument is there");
                     }
                     if (call.grid().groups != std::array<int64_t, 3>{5, 1, 1}) {
                       return fail(Code::internal, "another grid");
                     }
                     const auto& params = call.constants<Scale>(3);
                     const auto* x = call.data<int32_t>(0);
                     auto* y = call.data<int32_t>(2);
                     const int64_t stride = call.view(0).strides()[0];
                     for (int64_t i = 0; i < call.view(0).shape()[0]; ++i) {
                       y[i] = x[i * stride] * params.factor + params.shift;
                     }
                     return {};
                   });
  const Buffer x = test::buffer_of<int32_t>(device_, DType::i32, {0, 1, 2, 3, 4, 5});
  const Buffer y = must(device_.empty(DType::i32, {3}));
  const View odd = must(must(View(x).reshape({3, 2})).slice(1, 1, 2));
  Encoder encoder = device_.encoder();
  {
    const Scale params = {10, 7};  // copied when recorded
    const std::array<Argument, 4> arguments = {odd, Argument(), y, Argument::bytes(params)};
    must(encoder.dispatch(kernel, arguments, {.groups = {5, 1, 1}}));
  }
  must(encoder.submit_and_wait());
  EXPECT_EQ(test::contents<int32_t>(y), (std::vector<int32_t>{17, 37, 57}));
}

TEST_P(NativeKernelTest, trailing_optional_arguments_may_be_left_out) {
  const Pipeline kernel =
      test::native(device_, "f", {{"y", Access::write}, {"extra", Access::read, true}},
                   [](const NativeCall& call) -> Result<void> {
                     *call.data<int32_t>(0) = call.data<int32_t>(1) == nullptr ? 1 : 2;
                     return {};
                   });
  const Buffer y = must(device_.empty(DType::i32, {1}));
  Encoder encoder = device_.encoder();
  must(encoder.dispatch(kernel, std::array<Argument, 1>{y}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(test::contents<int32_t>(y)[0], 1);
}

TEST_P(NativeKernelTest, dependent_dispatches_run_in_recorded_order) {
  const Pipeline kernel = test::native(device_, "increment", kReadWrite, increment());
  std::vector<Buffer> chain;
  for (int i = 0; i <= 50; ++i) chain.push_back(must(device_.empty(DType::i32, {1})));
  Encoder encoder = device_.encoder();
  for (size_t i = 0; i < 50; ++i) {
    must(encoder.dispatch(kernel, std::array<Argument, 2>{chain[i], chain[i + 1]}));
  }
  EXPECT_EQ(encoder.counters().barriers, 49);
  must(encoder.submit_and_wait());
  EXPECT_EQ(test::contents<int32_t>(chain.back())[0], 50);
}

TEST_P(NativeKernelTest, independent_dispatches_all_run_even_when_each_divides_its_work) {
  const Pipeline kernel =
      test::native(device_, "fill", {{"y", Access::write}, {"value", Access::bytes}},
                   [](const NativeCall& call) -> Result<void> {
                     call.parallel_for(call.view(0).count(), 3, [&](int64_t begin, int64_t end) {
                       std::fill(call.data<int32_t>(0) + begin, call.data<int32_t>(0) + end,
                                 call.constants<int32_t>(1));
                     });
                     return {};
                   });
  std::vector<Buffer> outputs;
  Encoder encoder = device_.encoder();
  for (int32_t i = 0; i < 40; ++i) {
    outputs.push_back(must(device_.empty(DType::i32, {100})));
    must(encoder.dispatch(kernel, std::array<Argument, 2>{outputs.back(), Argument::bytes(i)}));
  }
  EXPECT_EQ(encoder.counters().barriers, 0);
  must(encoder.submit_and_wait());
  for (int32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(test::contents<int32_t>(outputs[static_cast<size_t>(i)]),
              std::vector<int32_t>(100, i));
  }
}

TEST_P(NativeKernelTest, parallel_for_covers_everything_once_in_aligned_ranges) {
  using Ranges = std::vector<std::pair<int64_t, int64_t>>;
  struct Work {
    int64_t count, grain;
  };
  Ranges ranges;
  std::mutex mutex;
  const Pipeline kernel = test::native(
      device_, "divide", {{"work", Access::bytes}}, [&](const NativeCall& call) -> Result<void> {
        const auto& work = call.constants<Work>(0);
        call.parallel_for(work.count, work.grain, [&](int64_t begin, int64_t end) {
          const std::scoped_lock lock(mutex);
          ranges.emplace_back(begin, end);
        });
        return {};
      });
  for (const auto& [count, grain] : std::vector<std::pair<int64_t, int64_t>>{{1, 1},
                                                                             {1, 100},
                                                                             {7, 1},
                                                                             {64, 8},
                                                                             {65, 8},
                                                                             {63, 8},
                                                                             {1000, 7},
                                                                             {5, 5},
                                                                             {6, 5},
                                                                             {10, INT64_MAX},
                                                                             {12, 0},
                                                                             {12, -3}}) {
    SCOPED_TRACE(std::to_string(count) + " by " + std::to_string(grain));
    ranges.clear();
    Encoder encoder = device_.encoder();
    must(encoder.dispatch(kernel, std::array<Argument, 1>{Argument::bytes(Work{count, grain})}));
    must(encoder.submit_and_wait());
    std::sort(ranges.begin(), ranges.end());
    const int64_t longest = std::max<int64_t>(grain, 1);
    int64_t next = 0;
    for (const auto& [begin, end] : ranges) {
      EXPECT_EQ(begin, next);
      EXPECT_EQ(begin % longest, 0);
      EXPECT_GT(end, begin);
      EXPECT_LE(end - begin, longest);
      next = end;
    }
    EXPECT_EQ(next, count);
  }
}

TEST_P(NativeKernelTest, parallel_for_over_nothing_calls_nothing) {
  std::atomic<int> calls = 0;
  const Pipeline kernel =
      test::native(device_, "nothing", {}, [&](const NativeCall& call) -> Result<void> {
        for (const int64_t count : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
          call.parallel_for(count, 4, [&](int64_t, int64_t) { ++calls; });
        }
        return {};
      });
  Encoder encoder = device_.encoder();
  must(encoder.dispatch(kernel, {}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(calls, 0);
}

TEST_P(NativeKernelTest, timings_follow_the_order_of_dependent_dispatches) {
  const Pipeline kernel = test::native(device_, "increment", kReadWrite, increment());
  const Buffer a = must(device_.empty(DType::i32, {1}));
  const Buffer b = must(device_.empty(DType::i32, {1}));
  Encoder encoder = device_.encoder({.timing = Timing::each});
  must(encoder.dispatch(kernel, std::array<Argument, 2>{a, b}, {}, "one"));
  must(encoder.dispatch(kernel, std::array<Argument, 2>{b, a}, {}, "two"));
  must(encoder.submit_and_wait());
  const auto timings = encoder.timings();
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].name, "one");
  EXPECT_EQ(timings[1].name, "two");
  EXPECT_GE(timings[0].start_us, 0);
  EXPECT_GE(timings[1].start_us, timings[0].start_us + timings[0].duration_us);
}

TEST_P(NativeKernelTest, a_list_is_timed_as_a_whole) {
  const Pipeline kernel = test::native(device_, "increment", kReadWrite, increment());
  const Buffer a = must(device_.empty(DType::i32, {1}));
  const Buffer b = must(device_.empty(DType::i32, {1}));
  Encoder encoder = device_.encoder({.timing = Timing::whole});
  must(encoder.dispatch(kernel, std::array<Argument, 2>{a, b}));
  must(encoder.dispatch(kernel, std::array<Argument, 2>{b, a}));
  must(encoder.submit_and_wait());
  ASSERT_EQ(encoder.timings().size(), 1U);
  EXPECT_GT(encoder.timings()[0].duration_us, 0);
}

TEST_P(NativeKernelTest, an_encoder_that_is_dropped_runs_nothing) {
  std::atomic<int> runs = 0;
  const Pipeline kernel =
      test::native(device_, "count", {}, [&](const NativeCall&) -> Result<void> {
        ++runs;
        return {};
      });
  must(device_.encoder().dispatch(kernel, {}));
  {
    must(device_.encoder().submit_and_wait());
  }
  EXPECT_EQ(runs, 0);
}

// One failing dispatch between two others that depend on it, waited for in three ways.
class FailingKernelTest : public NativeKernelTest {
 protected:
  void expect_failure(NativeFunction broken, Code code,
                      std::initializer_list<std::string_view> words) {
    test::native(device_, "increment", kReadWrite, increment());
    test::native(device_, "broken", kReadWrite, std::move(broken));
    expect_failure_at(code, words, [](Encoder& encoder) { return encoder.submit_and_wait(); });
    expect_failure_at(code, words, [](Encoder& encoder) { return must(encoder.submit()).wait(); });
    expect_failure_at(code, words, [](Encoder& encoder) {
      must(encoder.submit());
      return encoder.wait();
    });
  }

 private:
  template <class Finish>
  void expect_failure_at(Code code, std::initializer_list<std::string_view> words,
                         const Finish& finish) {
    const auto get = [&](const char* name) {
      return must(device_.registry().get_pipeline({.name = name}));
    };
    std::array<Buffer, 4> b;
    for (Buffer& buffer : b) buffer = must(device_.empty(DType::i32, {1}));
    Encoder encoder = device_.encoder({.timing = Timing::each});
    must(encoder.dispatch(get("increment"), std::array<Argument, 2>{b[0], b[1]}, {}, "before"));
    must(encoder.dispatch(get("broken"), std::array<Argument, 2>{b[1], b[2]}, {}, "the culprit"));
    must(encoder.dispatch(get("increment"), std::array<Argument, 2>{b[2], b[3]}, {}, "after"));
    const Result<void> ended = finish(encoder);
    expect_error(ended, code, words);
    expect_error(ended, code, {"the culprit"});
    expect_error(encoder.wait(), code, {"the culprit"});
    EXPECT_EQ(test::contents<int32_t>(b[1])[0], 1) << "what came before has run";
    EXPECT_EQ(test::contents<int32_t>(b[3])[0], 0) << "what depends on it has not";
    ASSERT_EQ(encoder.timings().size(), 3U);
    EXPECT_EQ(encoder.timings()[2].name, "after");
    EXPECT_EQ(encoder.timings()[2].duration_us, 0);

    // The device goes on.
    Encoder next = device_.encoder();
    must(next.dispatch(get("increment"), std::array<Argument, 2>{b[1], b[3]}));
    must(next.submit_and_wait());
    EXPECT_EQ(test::contents<int32_t>(b[3])[0], 2);
  }
};

INSTANTIATE_TEST_SUITE_P(threads, FailingKernelTest, ::testing::Values(1, 2, 16),
                         ::testing::PrintToStringParamName());

TEST_P(FailingKernelTest, its_error_reaches_the_wait_under_the_name_of_the_dispatch) {
  expect_failure(
      [](const NativeCall&) -> Result<void> { return fail(Code::out_of_memory, "all gone"); },
      Code::out_of_memory, {"all gone"});
}

TEST_P(FailingKernelTest, its_exception_reaches_the_wait_as_an_error) {
  expect_failure([](const NativeCall&) -> Result<void> { throw std::runtime_error("boom"); },
                 Code::execution_failed, {"boom"});
}

TEST_P(FailingKernelTest, an_exception_that_is_no_exception_reaches_the_wait_as_an_error) {
  expect_failure([](const NativeCall&) -> Result<void> { throw 42; }, Code::execution_failed, {});
}

TEST_P(FailingKernelTest, an_exception_from_a_parallel_range_reaches_the_wait_as_an_error) {
  expect_failure(
      [](const NativeCall& call) -> Result<void> {
        call.parallel_for(100, 1, [](int64_t begin, int64_t) {
          if (begin == 57) throw std::runtime_error("range 57");
        });
        return {};
      },
      Code::execution_failed, {"range 57"});
}

TEST_P(FailingKernelTest, of_several_failures_side_by_side_the_first_recorded_is_told) {
  const Pipeline kernel =
      test::native(device_, "broken", {},
                   [](const NativeCall&) -> Result<void> { throw std::logic_error("x"); });
  Encoder encoder = device_.encoder();
  for (const char* label : {"first", "second", "third"}) {
    must(encoder.dispatch(kernel, {}, {}, label));
  }
  expect_error(encoder.submit_and_wait(), Code::execution_failed, {"first"});
}

}  // namespace
}  // namespace norite
