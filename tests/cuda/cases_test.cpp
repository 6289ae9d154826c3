// SPDX-License-Identifier: MIT
// Every case of the table through the CUDA backend: the kernels that GPUs run, as NVRTC compiles
// them, executed by the stand-in, which also finds accesses outside of memory and races.
#include "cases/case.hpp"
#include "cuda/computing_support.hpp"

namespace norite {
namespace {

using cases::Case;
using cases::FillKind;

class CudaCases : public test::ComputingTest, public testing::WithParamInterface<std::string> {
 protected:
  void check(const Case& one, FillKind fill) const {
    SCOPED_TRACE(one.name);
    const auto problem = test::must(one.prepare(device(), fill));
    test::must(problem->run());
    const cases::Outcome outcome = test::must(problem->check());
    EXPECT_TRUE(outcome.passed()) << outcome.worst().detail;
  }
};

TEST_P(CudaCases, MatchFloat64) {
  for (const Case* one : cases::of_operation(cases::kVerify, GetParam())) {
    check(*one, FillKind::normal);
    check(*one, FillKind::special);
  }
}

TEST_P(CudaCases, OfGpusAloneMatchFloat64) {
  for (const Case* one : cases::of_operation(cases::kVerifyGpu, GetParam())) {
    check(*one, FillKind::normal);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CudaCases, testing::ValuesIn(cases::operations()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace norite
