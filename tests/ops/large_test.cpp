// SPDX-License-Identifier: MIT
// More than 2^31 elements: no index, stride or count may be 32 bits wide.
#include <gtest/gtest.h>

#include "cases/case.hpp"
#include "host_values.hpp"

namespace norite {
namespace {

TEST(Large, MoreThan2To31ElementsMatchFloat64) {
  const Device device = test::must(Device::open("cpu"));
  int checked = 0;
  std::string skipped;
  for (const cases::Case* one : cases::select(cases::kLarge, "")) {
    SCOPED_TRACE(one->name);
    auto problem = one->prepare(device, cases::FillKind::normal);
    if (!problem && problem.error().code == Code::unsupported) {
      skipped = problem.error().message;
      continue;
    }
    ASSERT_TRUE(problem) << problem.error().message;
    test::must((*problem)->run());
    const cases::Outcome outcome = test::must((*problem)->check());
    EXPECT_TRUE(outcome.passed()) << outcome.worst().detail;
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << skipped;
}

}  // namespace
}  // namespace norite
