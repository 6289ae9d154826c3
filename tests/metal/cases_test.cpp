// SPDX-License-Identifier: MIT
// Every case of the table through the Metal backend.
#include "cases/case.hpp"
#include "metal/metal_support.hpp"

namespace norite {
namespace {

using cases::Case;
using cases::FillKind;

// The sanitizer sees the backend and the stand-in, which a few cases show; kernels are compiled
// without it.
#if defined(NORITE_TEST_SANITIZED)
constexpr size_t kEvery = 29;
#else
constexpr size_t kEvery = 1;
#endif

class MetalCases : public test::AnyMetalTest, public testing::WithParamInterface<std::string> {
 protected:
  static void check(const Device& device, const Case& one, FillKind fill) {
    SCOPED_TRACE(one.name);
    const auto problem = test::must(one.prepare(device, fill));
    test::must(problem->run());
    const cases::Outcome outcome = test::must(problem->check());
    EXPECT_TRUE(outcome.passed()) << outcome.worst().detail;
  }
};

TEST_P(MetalCases, MatchFloat64) {
  const Device device = test::must(Device::open("metal"));
  size_t seen = 0;
  for (const Case* one : cases::of_operation(cases::kVerify, GetParam())) {
    if (seen++ % kEvery != 0) continue;
    for (const FillKind fill : {FillKind::normal, FillKind::special}) check(device, *one, fill);
  }
  EXPECT_GT(seen, 0U);
}

// Rows that are long even for a GPU, of which the executor does some.
TEST_P(MetalCases, OfGpusAloneMatchFloat64) {
  constexpr size_t kEveryLong = 16 * kEvery;
  const Device device = test::must(Device::open("metal"));
  size_t seen = 0;
  for (const Case* one : cases::of_operation(cases::kVerifyGpu, GetParam())) {
    if (seen++ % kEveryLong == 0) check(device, *one, FillKind::normal);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, MetalCases, testing::ValuesIn(cases::operations()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace norite
