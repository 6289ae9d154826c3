// SPDX-License-Identifier: MIT
// The command beside a driver and an NVRTC that pretend to be NVIDIA's: when they are started, and
// what is said while kernels are compiled.
#include <gtest/gtest.h>
#include <unistd.h>

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
  const CommandResult alone = run_norite("devices --filter cuda", nowhere);
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_TRUE(alone.out.starts_with("  cuda cannot be used: ")) << alone.out;
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
  const CommandResult chosen = run_norite("verify --json --filter 'rms_norm[bf16,rows=3,dim=7]'",
                                          two + "NORITE_DEVICE=cuda:1 ");
  EXPECT_TRUE(has(chosen.out, "\"device\": \"cuda:1\"")) << chosen.out << chosen.err;
}

TEST(CudaCommand, CountsTheCasesThatVerifyTheGpu) {
  const auto counted = [](const std::string& device) {
    const CommandResult ops =
        run_norite("ops --json --filter residual_rms_norm --device " + device, kStandIn);
    return ops.json()["results"][0]["cases"].get<size_t>();
  };
  const CommandResult verified =
      run_norite("verify --json --filter 'residual_rms_norm[f32' --device cpu", kStandIn);
  EXPECT_EQ(counted("cpu"), verified.json()["results"].size());
  EXPECT_GT(counted("cuda"), counted("cpu"));
}

// Only the CPU watches kernels and cancels them; the stand-in would be the best device.
TEST(CudaCommand, ChecksAndTimeLimitsChooseTheCpu) {
  const test::TemporaryFile file("past.metal",
                                 "kernel void k(device float* y [[buffer(0)]],\n"
                                 "              uint i [[thread_position_in_grid]]) {\n"
                                 "  y[i + 1] = 1;\n}\n");
  const std::string run =
      "kernel run '" + file.path() + "' --grid 4 --threads 4 --arg 0=zeros:f32[4] ";
  const CommandResult checked = run_norite(run + "--checked", kStandIn);
  EXPECT_EQ(checked.exit_code, 1) << checked.out;
  EXPECT_TRUE(has(checked.err, "past.metal:3")) << checked.err;
  EXPECT_FALSE(has(checked.err, kStarted)) << checked.err;
  const test::TemporaryFile endless("endless.metal",
                                    "kernel void k(device int* y [[buffer(0)]]) {\n"
                                    "  while (y[0] == 0) y[1] += 1;\n}\n");
  const CommandResult limited = run_norite("kernel run '" + endless.path() +
                                               "' --groups 1 --threads 1 --arg 0=zeros:i32[2] "
                                               "--time-limit 0.2",
                                           kStandIn);
  EXPECT_EQ(limited.exit_code, 1) << limited.out;
  EXPECT_TRUE(has(limited.err, "time limit of 200 ms")) << limited.err;
  const CommandResult verified = run_norite(
      "verify --checked --kernels msl --json --filter 'rms_norm[f32,rows=3,dim=7]'", kStandIn);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(verified.json()["device"], "cpu");
}

TEST(CudaCommand, ChecksAndTimeLimitsRefuseOtherDevices) {
  const test::TemporaryFile file("k.metal", "kernel void k(device float* y [[buffer(0)]]) {}\n");
  const std::string run =
      "kernel run '" + file.path() + "' --grid 1 --threads 1 --arg 0=zeros:f32[1] ";
  for (const auto& [arguments, option] :
       {std::pair{run + "--checked", "--checked works on the device cpu"},
        {run + "--time-limit 1", "--time-limit works on the device cpu"},
        {"verify --checked --kernels msl", "--checked works on the device cpu"}}) {
    const CommandResult named = run_norite(arguments + " --device cuda", kStandIn);
    EXPECT_EQ(named.exit_code, 2) << arguments;
    EXPECT_TRUE(has(named.err, option)) << named.err;
    EXPECT_TRUE(has(named.err, "--device is 'cuda'")) << named.err;
    const CommandResult variable = run_norite(arguments, kStandIn + "NORITE_DEVICE=cuda");
    EXPECT_EQ(variable.exit_code, 2) << arguments;
    EXPECT_TRUE(has(variable.err, "NORITE_DEVICE is 'cuda'")) << variable.err;
  }
  EXPECT_EQ(run_norite(run + "--checked --device cpu:0", kStandIn + "NORITE_DEVICE=cuda").exit_code,
            0);
  EXPECT_EQ(run_norite(run + "--checked", kStandIn + "NORITE_DEVICE=cpu").exit_code, 0);
  // Which of the CPUs there are, its backend says.
  for (const std::string option : {"--checked", "--time-limit 1"}) {
    const CommandResult named = run_norite(run + option + " --device cpu:5", kStandIn);
    EXPECT_EQ(named.exit_code, 3) << option;
    EXPECT_TRUE(has(named.err, "cpu:5")) << named.err;
    EXPECT_EQ(run_norite(run + option, kStandIn + "NORITE_DEVICE=cpu:5").exit_code, 3) << option;
  }
}

// The stand-in computes nothing: the cases fail, after their kernels were compiled.
TEST(CudaCommand, SaysOnceThatItCompilesAndNothingWhenAllIsCached) {
  const std::string folder = testing::TempDir() + "norite_cuda_command_" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  const std::string environment = kStandIn + "NORITE_CACHE_DIR=" + folder;
  const std::string arguments = "verify --device cuda --filter 'rms_norm[bf16,rows=3,dim=6'";
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
