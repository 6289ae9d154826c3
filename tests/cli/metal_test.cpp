// SPDX-License-Identifier: MIT
// The command on a Metal that is none: named for what it is, and each failure told in its own
// words.
#include <gtest/gtest.h>

#include "command.hpp"

namespace norite {
namespace {

using test::CommandResult;
using test::run_norite;

/// Runs the command with the stand-in, which fails as it is told.
CommandResult run(const std::string& arguments, const std::string& failure = "") {
#ifdef NORITE_STAND_IN_METAL
  return run_norite(
      arguments, "NORITE_METAL_RUNTIME=" NORITE_STAND_IN_METAL " NORITE_STAND_IN_METAL=" + failure);
#else
  return run_norite(arguments, failure);
#endif
}

class MetalCommand : public testing::Test {
 protected:
  void SetUp() override {
#ifndef NORITE_STAND_IN_METAL
    GTEST_SKIP() << "only the stand-in for Metal can be told to fail";
#endif
  }
};

TEST_F(MetalCommand, CallsTheStandInAStandIn) {
  const CommandResult result = run("devices");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("metal"), std::string::npos);
  EXPECT_NE(result.out.find("Stand-in for Metal"), std::string::npos);
}

TEST_F(MetalCommand, VerifiesAndReportsItselfAsJson) {
  const CommandResult result = run("verify --device metal --filter compute_d[bf16 --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["device"], "metal");
}

TEST_F(MetalCommand, DevicesThatCannotBeUsed) {
  for (const auto& [failure, words] : {std::pair{"no_device", "0 GPUs"},
                                       {"old_system", "too old"},
                                       {"other_gpu", "Apple silicon"}}) {
    const CommandResult result = run("verify --device metal", failure);
    EXPECT_EQ(result.exit_code, 3) << failure;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_EQ(run("verify --filter compute_d[f16", failure).exit_code, 0) << failure;
  }
}

TEST_F(MetalCommand, FailuresOfTheWork) {
  for (const auto& [failure, words] : {std::pair{"no_memory", "at most 32768 on metal"},
                                       {"compile_error", "Metal refused the kernel"},
                                       {"fault:flash_attn_train_bwd_compute_d", "told to fail"}}) {
    const CommandResult result = run("verify --device metal --filter compute_d[f32", failure);
    EXPECT_EQ(result.exit_code, 1) << failure;
    EXPECT_NE((result.out + result.err).find(words), std::string::npos) << result.out << result.err;
  }
}

}  // namespace
}  // namespace norite
