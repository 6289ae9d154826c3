// SPDX-License-Identifier: MIT
// The kernels that GPUs run, executed on the CPU: every case of the table against float64, ordinary
// and special values, and a share of the cases in checked mode, which must accuse nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cases/case.hpp"
#include "support.hpp"

namespace norite {
namespace {

using cases::Case;
using cases::FillKind;

// The kernels are compiled without the sanitizer either way; a few of them show what the executor
// does around them.
#if defined(NORITE_TEST_SANITIZED)
constexpr size_t kEvery = 29;
#else
constexpr size_t kEvery = 1;
#endif

/// One for all tests, so that what one of them compiled is there for the next.
const Device& text_device() {
  static const Device device = test::must(Device::open("cpu", {.builtins = BuiltinForm::text}));
  return device;
}

class KernelCases : public testing::TestWithParam<std::string> {
 protected:
  /// Every `step`-th case of the operation.
  static void check(const Device& device, FillKind fill, size_t step) {
    size_t seen = 0;
    for (const Case* one : cases::of_operation(cases::kVerify, GetParam())) {
      if (seen++ % step != 0) continue;
      SCOPED_TRACE(one->name);
      const auto problem = test::must(one->prepare(device, fill));
      test::must(problem->run());
      const cases::Outcome outcome = test::must(problem->check());
      EXPECT_TRUE(outcome.passed()) << outcome.worst().detail;
    }
    EXPECT_GT(seen, 0U);
  }
};

TEST_P(KernelCases, MatchFloat64) {
  check(text_device(), FillKind::normal, kEvery);
  check(text_device(), FillKind::special, kEvery);
}

std::vector<float> floats_of(const cases::Problem& problem) {
  const auto bytes = test::must(problem.output_bytes());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The two forms of a kernel sum in different orders, and are as near to each other as that allows.
TEST_P(KernelCases, AgreeWithHostCode) {
  const Device native = test::must(Device::open("cpu"));
  size_t count = 0;
  for (const Case* one : cases::select(cases::kVerify, GetParam() + "[f32")) {
    const bool other_dtypes = one->name.find("copy") != std::string::npos;
    if (one->op != GetParam() || other_dtypes || count++ % kEvery != 0) continue;
    SCOPED_TRACE(one->name);
    const auto from_text = test::must(one->prepare(text_device(), FillKind::normal));
    const auto from_native = test::must(one->prepare(native, FillKind::normal));
    test::must(from_text->run());
    test::must(from_native->run());
    const auto seen = floats_of(*from_text);
    const auto expected = floats_of(*from_native);
    ASSERT_EQ(seen.size(), expected.size());
    for (size_t i = 0; i < seen.size(); ++i) {
      ASSERT_NEAR(seen[i], expected[i], 2e-4 * (1 + std::abs(expected[i]))) << "element " << i;
    }
  }
}

TEST_P(KernelCases, CheckedModeAccusesNothing) {
  const Device device =
      test::must(Device::open("cpu", {.builtins = BuiltinForm::text, .checked = true}));
  check(device, FillKind::normal, kEvery * 7);
}

INSTANTIATE_TEST_SUITE_P(Every, KernelCases, testing::ValuesIn(cases::operations()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace norite
