// SPDX-License-Identifier: MIT
// The CUDA backend on a stand-in for NVIDIA's driver and NVRTC.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "backends/cuda/cuda_backend.hpp"
#include "core/device_state.hpp"
#include "cuda/stand_in/settings.hpp"
#include "support.hpp"

namespace norite::test {

/// Two buffers: what is copied to, and from.
inline constexpr const char* kCopyFloats =
    "kernel void copy_floats(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],\n"
    "                        uint i [[thread_position_in_grid]]) { y[i] = x[i]; }\n";

/// Loads the stand-in and puts it back to what it is at first.
class CudaTest : public ::testing::Test {
 protected:
  CudaTest() {
    setenv("NORITE_CUDA_LIBRARY", NORITE_STAND_IN_CUDA, 1);
    setenv("NORITE_NVRTC", NORITE_STAND_IN_CUDA, 1);
    // What it compiles is of no use to anyone else.
    if (::mkdtemp(cache_.data()) == nullptr) throw std::runtime_error("no folder for a cache");
    setenv("NORITE_CACHE_DIR", cache_.c_str(), 1);
    void* library = ::dlopen(NORITE_STAND_IN_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    reset_ = reinterpret_cast<void (*)()>(::dlsym(library, "stand_in_cuda_reset"));
    reset_();
    stand_in_ = reinterpret_cast<StandInCuda* (*)()>(::dlsym(library, "stand_in_cuda"))();
  }

  ~CudaTest() override { std::filesystem::remove_all(cache_); }

  void reset() const { reset_(); }
  [[nodiscard]] StandInCuda& stand_in() const { return *stand_in_; }

  /// The device as Device::open gives it.
  [[nodiscard]] static Result<Device> open(int index = 0, const DeviceOptions& options = {}) {
    NORITE_TRY_ASSIGN(auto driver, cuda::load_driver());
    NORITE_TRY_ASSIGN(auto nvrtc, cuda::load_nvrtc(driver->version));
    NORITE_TRY_ASSIGN(auto backend,
                      cuda::open(std::move(driver), std::move(nvrtc), index, options));
    return core::DeviceState::handle(std::make_shared<core::DeviceState>(std::move(backend)));
  }

  /// A registered kernel's pipeline.
  static Result<Pipeline> kernel(const Device& device, const std::string& name,
                                 const std::string& text) {
    NORITE_TRY(device.registry().register_source(name, text));
    return device.registry().get_pipeline({.name = name});
  }

 private:
  std::string cache_ = (std::filesystem::temp_directory_path() / "norite-cuda-XXXXXX").string();
  void (*reset_)();
  StandInCuda* stand_in_;
};

}  // namespace norite::test
