// SPDX-License-Identifier: MIT
// More than 2^31 elements: no index, stride or count may be 32 bits wide.
#include <gtest/gtest.h>

#include "cases/case.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

class Large : public test::OnDevice<std::string> {};

TEST_P(Large, MoreThan2To31ElementsMatchFloat64) {
  int checked = 0;
  std::string skipped;
  for (const cases::Case* one : cases::select(cases::kLarge, "")) {
    SCOPED_TRACE(one->name);
    auto problem = one->prepare(device(), cases::FillKind::normal);
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

INSTANTIATE_TEST_SUITE_P(Devices, Large, testing::ValuesIn(test::cpu_and_cuda()),
                         test::InstanceName());

}  // namespace
}  // namespace norite
