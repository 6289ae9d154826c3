// SPDX-License-Identifier: MIT
// Every case of the table on every device, against float64 and with guard bytes, with ordinary and
// with special values.
#include <gtest/gtest.h>

#include <set>

#include "cases/case.hpp"
#include "ops/tested_cases.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using cases::Case;
using cases::FillKind;

class CaseTable : public test::OnDevice<std::tuple<std::string, std::string>> {
 protected:
  void check_all(FillKind fill) const {
    const auto& op = std::get<1>(GetParam());
    int checked = 0;
    for (const Case* one : test::tested_cases(device_name())) {
      if (one->op != op) continue;
      SCOPED_TRACE(one->name);
      const auto problem = test::must(one->prepare(device(), fill));
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

INSTANTIATE_TEST_SUITE_P(EveryDevice, CaseTable,
                         testing::Combine(testing::ValuesIn(test::tested_devices()),
                                          testing::ValuesIn(cases::operations())),
                         test::InstanceName());

std::vector<std::string> norms() {
  std::vector<std::string> operations = cases::operations();
  std::erase_if(operations,
                [](const std::string& op) { return op.find("rms_norm") == std::string::npos; });
  return operations;
}

INSTANTIATE_TEST_SUITE_P(EveryPasses, CaseTable,
                         testing::Combine(testing::ValuesIn(test::tested_passes()),
                                          testing::ValuesIn(norms())),
                         test::InstanceName());

// `verify`, `bench` and `demo` show what the library can do: all of it.
TEST(Suites, HaveEveryOperation) {
  for (const std::string& op : cases::operations()) {
    for (const unsigned suite : {cases::kVerify, cases::kBench, cases::kDemo}) {
      EXPECT_FALSE(cases::of_operation(suite, op).empty()) << op << " in suite " << suite;
    }
  }
}

TEST(CaseNames, AreUnique) {
  std::set<std::string> names;
  for (const Case& one : cases::all_cases()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
}

}  // namespace
}  // namespace norite
