// SPDX-License-Identifier: MIT
// The command beside a driver and an NVRTC that pretend to be NVIDIA's: when they are started, and
// what is said while kernels are compiled.
#include <gtest/gtest.h>

#include <filesystem>

#include "command.hpp"

namespace norite {
namespace {

using test::CommandResult;
using test::run_norite;

const std::string kStandIn = "NORITE_CUDA_LIBRARY=" NORITE_STAND_IN_CUDA
                             " NORITE_NVRTC=" NORITE_STAND_IN_CUDA " STAND_IN_CUDA_TELLS=1 ";
constexpr const char* kStarted = "the driver started";
constexpr const char* kCompiling = "compiling kernels for cuda";

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(CudaCommand, StartsTheDriverForDevicesAndNotForItsVersion) {
  EXPECT_TRUE(has(run_norite("devices", kStandIn).err, kStarted));
  for (const char* arguments : {"--version", "--help", "devices --help"}) {
    const CommandResult result = run_norite(arguments, kStandIn);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "") << arguments;
  }
}

TEST(CudaCommand, SaysWhyThereIsNoGpuAndLetsTheCpuServe) {
  const std::string nowhere = "NORITE_CUDA_LIBRARY=/nowhere/libcuda.so.1 ";
  const CommandResult without = run_norite("devices", nowhere);
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_TRUE(has(without.out, "cuda cannot be used")) << without.out;
  EXPECT_TRUE(has(without.out, "looked for /nowhere/libcuda.so.1")) << without.out;
  EXPECT_EQ(run_norite("verify --filter 'rms_norm[f32,rows=3'", nowhere).exit_code, 0);
  const CommandResult asked = run_norite("verify --device cuda", nowhere);
  EXPECT_EQ(asked.exit_code, 3);
  EXPECT_TRUE(has(asked.err, "/nowhere/libcuda.so.1")) << asked.err;

  const CommandResult no_compiler =
      run_norite("devices", kStandIn + "NORITE_NVRTC=/nowhere/libnvrtc.so ");
  EXPECT_TRUE(has(no_compiler.out, "cuda (Stand-in GPU) cannot be used")) << no_compiler.out;
  EXPECT_TRUE(has(no_compiler.out, "/nowhere/libnvrtc.so")) << no_compiler.out;
}

TEST(CudaCommand, TakesTheGpuThatTheEnvironmentNames) {
  const std::string two = kStandIn + "STAND_IN_CUDA_DEVICES=2 ";
  const CommandResult listed = run_norite("devices", two);
  EXPECT_TRUE(has(listed.out, "cuda:1")) << listed.out;
  const CommandResult chosen =
      run_norite("verify --json --filter 'rms_norm[bf16,rows=3'", two + "NORITE_DEVICE=cuda:1 ");
  EXPECT_TRUE(has(chosen.out, "\"device\": \"cuda:1\"")) << chosen.out << chosen.err;
}

// The stand-in computes nothing: the cases fail, after their kernels were compiled.
TEST(CudaCommand, SaysOnceThatItCompilesAndNothingWhenAllIsCached) {
  const std::string folder = testing::TempDir() + "norite_cuda_command";
  std::filesystem::remove_all(folder);
  const std::string environment = kStandIn + "NORITE_CACHE_DIR=" + folder;
  const std::string arguments = "verify --device cuda --filter 'rms_norm[bf16,rows=3'";
  const CommandResult first = run_norite(arguments, environment);
  EXPECT_EQ(first.exit_code, 1) << first.err;
  const size_t said = first.err.find(kCompiling);
  ASSERT_NE(said, std::string::npos) << first.err;
  EXPECT_EQ(first.err.find(kCompiling, said + 1), std::string::npos) << first.err;
  const CommandResult second = run_norite(arguments, environment);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_FALSE(has(second.err, kCompiling)) << second.err;
  EXPECT_EQ(second.out, first.out);

  std::filesystem::remove_all(folder);
  EXPECT_FALSE(has(run_norite(arguments + " --json", environment).err, kCompiling));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace norite
