// SPDX-License-Identifier: MIT
// The CUDA backend with the real NVRTC, on a stand-in for the driver that executes what it makes.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/nvrtc.hpp"
#include "support.hpp"

namespace norite::test {

/// Machines without an NVRTC have nothing to test. A fault ends with the test that it is part of.
class ComputingTest : public ::testing::Test {
 protected:
  ComputingTest() {
    setenv("NORITE_CUDA_LIBRARY", NORITE_STAND_IN_CUDA, 1);
    setenv("STAND_IN_CUDA_COMPUTES", "16", 1);
    void* const library = ::dlopen(NORITE_STAND_IN_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    reinterpret_cast<void (*)()>(::dlsym(library, "stand_in_cuda_reset"))();
  }

  void SetUp() override {
#if defined(NORITE_TEST_SANITIZED)
    GTEST_SKIP() << "NVRTC is not sanitized";
#endif
    const auto nvrtc = cuda::load_nvrtc(must(cuda::load_driver())->version);
    if (!nvrtc) GTEST_SKIP() << nvrtc.error().message;
    device_.emplace(must(Device::open("cuda")));
  }

  [[nodiscard]] const Device& device() const { return *device_; }

  /// A registered kernel's pipeline.
  [[nodiscard]] Pipeline kernel(const std::string& name, const std::string& text) const {
    must(device().registry().register_source(name, "using namespace metal;\n" + text));
    return must(device().registry().get_pipeline({.name = name}));
  }

  [[nodiscard]] Result<void> run(const Pipeline& pipeline, const std::vector<Argument>& arguments,
                                 const Grid& grid) const {
    Encoder encoder = device().encoder();
    NORITE_TRY(encoder.dispatch(pipeline, arguments, grid));
    return encoder.submit_and_wait();
  }

 private:
  std::optional<Device> device_;
};

}  // namespace norite::test
