// SPDX-License-Identifier: MIT
// The same bits every time: repeated, and with 1, 2 or 16 threads.
#include <gtest/gtest.h>

#include "cases/case.hpp"
#include "host_values.hpp"

namespace norite {
namespace {

using Bytes = std::vector<std::byte>;

Bytes run_once(const Device& device, const cases::Case& one) {
  const auto problem = test::must(one.prepare(device, cases::FillKind::normal));
  test::must(problem->run());
  return test::must(problem->output_bytes());
}

class Determinism : public testing::TestWithParam<std::string> {};

TEST_P(Determinism, RepeatsBitForBit) {
  const Device device = test::must(Device::open("cpu", {.cpu_target = GetParam()}));
  for (const cases::Case* one : cases::select(cases::kVerify, "")) {
    SCOPED_TRACE(one->name);
    const auto problem = test::must(one->prepare(device, cases::FillKind::normal));
    test::must(problem->run());
    const Bytes first = test::must(problem->output_bytes());
    test::must(problem->reset());
    test::must(problem->run());
    EXPECT_EQ(first, test::must(problem->output_bytes()));
  }
}

TEST_P(Determinism, DoesNotDependOnTheNumberOfThreads) {
  const auto open = [&](int threads) {
    return test::must(Device::open("cpu", {.threads = threads, .cpu_target = GetParam()}));
  };
  const Device one_thread = open(1);
  const Device two_threads = open(2);
  const Device sixteen_threads = open(16);
  for (const cases::Case* one : cases::select(cases::kVerify, "")) {
    SCOPED_TRACE(one->name);
    const Bytes expected = run_once(one_thread, *one);
    EXPECT_EQ(expected, run_once(two_threads, *one));
    EXPECT_EQ(expected, run_once(sixteen_threads, *one));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, Determinism, testing::ValuesIn(Device::cpu_targets()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace norite
