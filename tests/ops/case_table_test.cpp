// SPDX-License-Identifier: MIT
// Every case of the table on every SIMD level, against float64 and with guard bytes, with ordinary
// and with special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cases/case.hpp"
#include "host_values.hpp"

namespace norite {
namespace {

using cases::Case;
using cases::FillKind;

class CaseTable : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  static void check_all(FillKind fill) {
    const auto& [level, op] = GetParam();
    const Device device = test::must(Device::open("cpu", {.cpu_target = level}));
    int checked = 0;
    for (const Case* one : cases::select(cases::kVerify, op + "[")) {
      if (one->op != op) continue;
      SCOPED_TRACE(one->name);
      const auto problem = test::must(one->prepare(device, fill));
      test::must(problem->run());
      const cases::Outcome outcome = test::must(problem->check());
      EXPECT_TRUE(outcome.passed()) << outcome.worst().detail;
      ++checked;
    }
    EXPECT_GT(checked, 0);
  }
};

TEST_P(CaseTable, MatchesFloat64) { check_all(FillKind::normal); }

TEST_P(CaseTable, SpecialValuesBehaveAsInF32) { check_all(FillKind::special); }

INSTANTIATE_TEST_SUITE_P(EveryLevel, CaseTable,
                         testing::Combine(testing::ValuesIn(Device::cpu_targets()),
                                          testing::ValuesIn(cases::operations())),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" + std::get<1>(one.param);
                         });

TEST(CaseNames, AreUnique) {
  std::set<std::string> names;
  for (const Case& one : cases::all_cases()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
}

}  // namespace
}  // namespace norite
