// SPDX-License-Identifier: MIT
// The same bits every time: repeated, with 1, 2 or 16 threads, cut into ranges that come in another
// order, a thousand times on a GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "cases/case.hpp"
#include "cases/elementwise.hpp"
#include "core/pipeline.hpp"
#include "core/recording.hpp"
#include "host_values.hpp"
#include "ops/row_operations.hpp"
#include "ops/tested_cases.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::RowOperands;

/// Bytes that are compared as a whole, however many they are.
struct Bytes {
  std::vector<std::byte> values;

  bool operator==(const Bytes& other) const {
    return values.size() == other.values.size() &&
           std::memcmp(values.data(), other.values.data(), values.size()) == 0;
  }
};
void PrintTo(const Bytes& bytes, std::ostream* out) { *out << bytes.values.size() << " bytes"; }

Bytes run_once(const Device& device, const cases::Case& one) {
  const auto problem = test::must(one.prepare(device, cases::FillKind::normal));
  test::must(problem->run());
  return {test::must(problem->output_bytes())};
}

void expect_repeats(const Device& device, const cases::Case& one, int64_t repeats) {
  SCOPED_TRACE(one.name);
  const auto problem = test::must(one.prepare(device, cases::FillKind::normal));
  test::must(problem->run());
  const Bytes first = {test::must(problem->output_bytes())};
  for (int64_t repeat = 1; repeat <= repeats; ++repeat) {
    test::must(problem->reset());
    test::must(problem->run());
    ASSERT_EQ(first, Bytes{test::must(problem->output_bytes())}) << "repeat " << repeat;
  }
}

class Determinism : public test::OnDevice<std::string> {};

TEST_P(Determinism, RepeatsBitForBit) {
  for (const cases::Case* one : test::tested_cases(device_name())) {
    expect_repeats(device(), *one, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, Determinism, testing::ValuesIn(test::compared_devices()),
                         test::InstanceName());

class ThreadCounts : public testing::TestWithParam<std::string> {};

TEST_P(ThreadCounts, MakeNoDifference) {
  const auto open = [&](int threads) {
    return test::must(Device::open("cpu", {.threads = threads, .cpu_target = GetParam()}));
  };
  const Device one_thread = open(1);
  const Device two_threads = open(2);
  const Device sixteen_threads = open(16);
  for (const cases::Case* one : test::tested_cases(GetParam())) {
    SCOPED_TRACE(one->name);
    const Bytes expected = run_once(one_thread, *one);
    EXPECT_EQ(expected, run_once(two_threads, *one));
    EXPECT_EQ(expected, run_once(sixteen_threads, *one));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, ThreadCounts, testing::ValuesIn(test::compared_levels()),
                         test::InstanceName());

/// One of the operations, on operands of a size that is cut for threads.
struct Work {
  std::string name;
  std::vector<View> outputs;
  std::function<Result<void>(Encoder&)> encode;
};

/// Every operation that works row by row or element by element.
std::vector<Work> much_work(const Device& device, DType dtype) {
  constexpr int64_t kBytes = int64_t{400} << 10;
  constexpr int64_t kHeads = 3, kHeadDim = 128, kDim = 100;
  const int64_t count = kBytes / size_of(dtype);
  const auto heads =
      RowOperands::make(device, dtype, {count / (kHeads * kHeadDim), kHeads, kHeadDim});
  const auto rows = RowOperands::make(device, dtype, {count / kDim, kDim});
  std::vector<Work> all;
  for (const test::RowOperation& operation : test::row_operations()) {
    const RowOperands on = (operation.heads == 0 ? rows : heads).with_own_outputs(device);
    all.push_back({operation.name, on.outputs(),
                   [=](Encoder& e) { return operation.encode(e, on, /*first_row=*/0); }});
  }
  const std::vector<View> inputs = {rows.x, rows.other, rows.x};
  for (const auto& operation : cases::elementwise_operations()) {
    const RowOperands on = rows.with_own_outputs(device);
    const size_t in = operation.inputs.size(), out = operation.outputs.size();
    const std::vector<View> outputs = {on.y, on.second};
    all.push_back({std::string(operation.name) + std::string(operation.option), outputs,
                   [=, encode = operation.encode](Encoder& e) {
                     return encode(e, std::span(inputs).first(in), std::span(outputs).first(out));
                   }});
  }
  return all;
}

std::vector<Bytes> results_of(const Work& work) {
  std::vector<Bytes> results;
  for (const View& view : work.outputs) results.push_back({test::download_bytes(view)});
  return results;
}

/// Calls a kernel as a device does, but takes its ranges from the last one to the first.
class BackwardCall final : public NativeCall {
 public:
  explicit BackwardCall(const core::Command& command)
      : NativeCall(command.arguments, command.grid) {}

  void run_ranges(int64_t count, int64_t grain, const RangeBody& body) const override {
    for (int64_t range = (count - 1) / grain; range >= 0; --range, ++ranges_) {
      body(range * grain, std::min(count, (range + 1) * grain));
    }
  }
  [[nodiscard]] int ranges() const { return ranges_; }

 private:
  mutable int ranges_ = 0;
};

/// Runs all kernels of some work backward. Gives the ranges that the first of them was cut into.
int run_backward(const Device& device, const Work& work) {
  Encoder encoder = device.encoder();
  test::must(work.encode(encoder));
  int first = 0;
  for (const core::Command& command : test::must(core::Recording::take(encoder))) {
    const BackwardCall call(command);
    test::must(command.pipeline.state()->native()(call));
    if (first == 0) first = call.ranges();
  }
  return first;
}

class CutWork : public testing::TestWithParam<std::tuple<std::string, DType>> {};

TEST_P(CutWork, GivesTheSameBitsInAnyOrderOnAnyNumberOfThreads) {
  const auto& [level, dtype] = GetParam();
  std::vector<std::vector<Bytes>> expected;
  for (const int threads : {1, 2, 16}) {
    const Device device = test::must(test::open_tested(level, threads));
    const std::vector<Work> all = much_work(device, dtype);
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(all[i].name);
      if (threads == 1) {
        EXPECT_GE(run_backward(device, all[i]), 3) << "ranges: not cut, nothing is tested";
        expected.push_back(results_of(all[i]));
      }
      test::run(device, all[i].encode);
      EXPECT_EQ(results_of(all[i]), expected[i]) << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, CutWork,
                         testing::Combine(testing::ValuesIn(test::compared_levels()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

INSTANTIATE_TEST_SUITE_P(EveryPasses, CutWork,
                         testing::Combine(testing::ValuesIn(test::tested_passes()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

/// A GPU's groups run in another order every time.
class ManyRepeats : public test::OnDevice<std::tuple<std::string, std::string>> {};

TEST_P(ManyRepeats, AThousandGiveTheSameBits) {
  constexpr size_t kCases = 6;  // spread over dtypes, sizes and options
  const auto all = cases::of_operation(cases::kVerify, std::get<1>(GetParam()));
  for (size_t i = 0; i < kCases; ++i) {
    expect_repeats(device(), *all[i * (all.size() - 1) / (kCases - 1)],
                   test::as_many_on(device(), 1000, 10));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, ManyRepeats,
                         testing::Combine(testing::Values(test::kCuda),
                                          testing::ValuesIn(cases::operations())),
                         test::InstanceName());

}  // namespace
}  // namespace norite
