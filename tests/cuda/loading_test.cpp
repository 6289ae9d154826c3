// SPDX-License-Identifier: MIT
// What the CUDA backend says about drivers and compilers that are missing, too old or not theirs.
#ifdef __linux__
#include <link.h>
#endif

#include "backends/cuda/devices.hpp"
#include "cuda/cuda_support.hpp"
#include "scoped_env.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;

class CudaLoadingTest : public test::CudaTest {};

TEST_F(CudaLoadingTest, a_driver_that_is_not_there) {
  setenv("NORITE_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  expect_error(cuda::load_driver(), Code::unavailable, {"driver", "/nowhere/libcuda.so.1"});
  unsetenv("NORITE_CUDA_LIBRARY");
  const auto usual = cuda::load_driver();
  if (!usual) expect_error(usual, Code::unavailable, {"libcuda.so.1"});
}

TEST_F(CudaLoadingTest, a_library_without_the_functions) {
  setenv("NORITE_CUDA_LIBRARY", test::kOtherLibrary, 1);
  expect_error(cuda::load_driver(), Code::unavailable, {test::kOtherLibrary, "cuInit"});
  setenv("NORITE_NVRTC", test::kOtherLibrary, 1);
  expect_error(cuda::load_nvrtc(13000), Code::unavailable, {test::kOtherLibrary, "nvrtcVersion"});
}

TEST_F(CudaLoadingTest, a_driver_that_is_too_old) {
  stand_in().driver_version = 11040;
  expect_error(cuda::load_driver(), Code::unavailable, {"11.4", "12.0", NORITE_STAND_IN_CUDA});
}

TEST_F(CudaLoadingTest, a_driver_that_cannot_start) {
  stand_in().failing = "cuInit";
  stand_in().error = cuda::CUDA_ERROR_NO_DEVICE;
  expect_error(cuda::load_driver(), Code::unavailable, {"cannot be used", "100"});
}

TEST_F(CudaLoadingTest, an_nvrtc_that_is_not_there) {
  setenv("NORITE_NVRTC", "/nowhere/libnvrtc.so", 1);
  expect_error(cuda::load_nvrtc(13000), Code::unavailable, {"NVRTC", "/nowhere/libnvrtc.so"});
}

TEST_F(CudaLoadingTest, an_nvrtc_that_is_too_old_or_too_new) {
  stand_in().nvrtc_major = 11;
  expect_error(cuda::load_nvrtc(13000), Code::unavailable, {"11.0", "12.3 or later"});
  stand_in().nvrtc_major = 12;
  stand_in().nvrtc_minor = 2;
  expect_error(cuda::load_nvrtc(13000), Code::unavailable, {"12.2", "12.3 or later"});
  stand_in().nvrtc_minor = 3;
  EXPECT_EQ(must(cuda::load_nvrtc(13000))->version, 12030);
  stand_in().nvrtc_major = 13;
  stand_in().nvrtc_minor = 0;
  expect_error(cuda::load_nvrtc(12040), Code::unavailable, {"13.0", "12.4"});
}

#ifdef __linux__
/// Where the loader has found a library.
std::filesystem::path path_of_library(const char* name) {
  link_map* map = nullptr;
  void* const handle = ::dlopen(name, RTLD_NOW);
  if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
    throw std::runtime_error(::dlerror());
  }
  return map->l_name;
}

// Others may be on the machine as well: what counts is that one that fits is found.
TEST_F(CudaLoadingTest, an_nvrtc_that_does_not_fit_is_passed_over) {
  stand_in().nvrtc_major = 12;
  stand_in().nvrtc_minor = 4;
  const auto root = std::filesystem::path(std::getenv("NORITE_CACHE_DIR"));
  const auto place = [&](const char* toolkit, const std::filesystem::path& library) {
    const auto folder = root / toolkit / "lib64";
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(library, folder / "libnvrtc.so.12");
    return (root / toolkit).string();
  };
  const auto other = place("other", path_of_library(test::kOtherLibrary));
  const test::ScopedEnv first("CUDA_HOME", other.c_str());
  const test::ScopedEnv second("CUDA_PATH", place("fits", NORITE_STAND_IN_CUDA).c_str());
  const test::ScopedEnv unset("NORITE_NVRTC", nullptr);
  const auto nvrtc = must(cuda::load_nvrtc(12040));
  EXPECT_GE(nvrtc->version, 12030);
  EXPECT_EQ(nvrtc->path.find(other), std::string::npos);
}
#endif

TEST_F(CudaLoadingTest, an_older_nvrtc_leaves_the_rest_to_the_driver) {
  const auto nvrtc = must(cuda::load_nvrtc(13000));
  using Options = std::vector<std::string>;
  EXPECT_EQ(nvrtc->architecture_options(90), Options{"--gpu-architecture=sm_90"});
  EXPECT_EQ(nvrtc->architecture_options(86), Options{"--gpu-architecture=compute_80"});
  EXPECT_EQ(nvrtc->architecture_options(120), Options{"--gpu-architecture=compute_90"});
}

TEST_F(CudaLoadingTest, gpus_are_listed_with_their_limits) {
  stand_in().devices = 2;
  const auto driver = must(cuda::load_driver());
  const auto infos = cuda::list(*driver, cuda::load_nvrtc(driver->version));
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_EQ(infos[0].id, "cuda");
  EXPECT_EQ(infos[1].id, "cuda:1");
  EXPECT_TRUE(infos[0].computes);
  EXPECT_EQ(infos[0].name, "Stand-in GPU");
  EXPECT_EQ(infos[0].limits.max_threads_per_group, 1024);
  EXPECT_EQ(infos[0].limits.max_group_memory_bytes, 232448);
  EXPECT_EQ(must(open(1)).info().id, "cuda:1");
  expect_error(open(2), Code::unavailable, {"cuda:2", "2 GPUs"});
}

TEST_F(CudaLoadingTest, gpus_that_cannot_be_counted_are_one_that_cannot_be_used) {
  const auto driver = must(cuda::load_driver());
  stand_in().failing = "cuDeviceGetCount";
  stand_in().error = cuda::CUDA_ERROR_INVALID_VALUE;
  const auto infos = cuda::list(*driver, cuda::load_nvrtc(driver->version));
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_FALSE(infos[0].usable);
  EXPECT_NE(infos[0].details.find("counting GPUs"), std::string::npos);
}

TEST_F(CudaLoadingTest, gpus_that_cannot_be_used_are_listed_with_the_reason) {
  const auto driver = must(cuda::load_driver());
  const auto without = cuda::list(*driver, fail(Code::unavailable, "no NVRTC"));
  ASSERT_EQ(without.size(), 1U);
  EXPECT_FALSE(without[0].usable);
  EXPECT_FALSE(without[0].computes);
  EXPECT_EQ(without[0].details, "no NVRTC");
  stand_in().capability = 61;
  const auto old = cuda::list(*driver, cuda::load_nvrtc(driver->version));
  EXPECT_FALSE(old.at(0).computes);
  expect_error(open(), Code::unavailable, {"6.1", "7.5"});
}

TEST_F(CudaLoadingTest, the_device_table_has_it) {
  const Device device = must(Device::open());
  EXPECT_EQ(device.info().id, "cuda");
  EXPECT_EQ(must(Device::open("cuda:0")).info().id, "cuda");
  EXPECT_EQ(must(Device::open("cpu")).info().backend, "cpu");
  expect_error(Device::open("cuda:7"), Code::unavailable, {"cuda:7", "cpu"});
  expect_error(device.registry().register_native(
                   {"host", {}, [](const NativeCall&) -> Result<void> { return {}; }}),
               Code::unsupported, {"host"});
}

}  // namespace
}  // namespace norite
