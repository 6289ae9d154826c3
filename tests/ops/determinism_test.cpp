// SPDX-License-Identifier: MIT
// The same bits every time: repeated, with 1, 2 or 16 threads, a thousand times on a GPU.
#include <gtest/gtest.h>

#include <cstring>

#include "cases/case.hpp"
#include "ops/tested_cases.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

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

void expect_repeats(const Device& device, const cases::Case& one, int repeats) {
  SCOPED_TRACE(one.name);
  const auto problem = test::must(one.prepare(device, cases::FillKind::normal));
  test::must(problem->run());
  const Bytes first = {test::must(problem->output_bytes())};
  for (int repeat = 1; repeat <= repeats; ++repeat) {
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

/// A GPU's groups run in another order every time.
class ManyRepeats : public test::OnDevice<std::tuple<std::string, std::string>> {};

TEST_P(ManyRepeats, AThousandGiveTheSameBits) {
  constexpr size_t kCases = 6;  // spread over dtypes, sizes and options
  const auto all = cases::of_operation(cases::kVerify, std::get<1>(GetParam()));
  for (size_t i = 0; i < kCases; ++i) {
    expect_repeats(device(), *all[i * (all.size() - 1) / (kCases - 1)], 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, ManyRepeats,
                         testing::Combine(testing::Values(test::kCuda),
                                          testing::ValuesIn(cases::operations())),
                         test::InstanceName());

}  // namespace
}  // namespace norite
