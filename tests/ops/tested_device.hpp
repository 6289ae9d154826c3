// SPDX-License-Identifier: MIT
// What tests of operations run on: each SIMD level of this CPU, and an NVIDIA GPU, whose tests are
// skipped where there is none. ctest tells them apart by the "cuda" in their names.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "support.hpp"

namespace norite::test {

inline constexpr const char* kCuda = "cuda";
/// The CPU, with the kernels of GPUs.
inline constexpr const char* kText = "text";

/// Every SIMD level of this CPU, and "cuda".
inline std::vector<std::string> tested_devices() {
  std::vector<std::string> names = Device::cpu_targets();
  names.emplace_back(kCuda);
  return names;
}

/// The CPU's best level, as processors with a smaller and with a larger L1 go over rows in norms.
/// None where it is no level that has both ways.
inline constexpr const char* kJoined = "joined";
inline constexpr const char* kApart = "apart";
inline std::vector<std::string> tested_passes() {
  if (!Device::cpu_targets().front().starts_with("AVX3")) return {};
  return {kJoined, kApart};
}

/// For tests of bits alone: under a sanitizer the best and the narrowest, without emulated vectors,
/// which take long there; other tests watch the memory of all.
inline std::vector<std::string> compared_levels() {
  std::vector<std::string> names = Device::cpu_targets();
#if defined(NORITE_TEST_SANITIZED)
  std::erase(names, "EMU128");
  if (names.size() > 2) names = {names.front(), names.back()};
#endif
  return names;
}

inline std::vector<std::string> compared_devices() {
  std::vector<std::string> names = compared_levels();
  names.emplace_back(kCuda);
  return names;
}

/// For tests to which the SIMD level makes no difference.
inline std::vector<std::string> cpu_and_cuda() { return {"cpu", kCuda}; }

/// threads: of the CPU, 0 for as many as it has.
inline Result<Device> open_tested(const std::string& name, int threads = 0) {
  if (name == kCuda) return Device::open(name);
  DeviceOptions options{.threads = threads};
  if (name == kText) {
    options.builtins = BuiltinForm::text;
  } else if (name == kJoined || name == kApart) {
    options.cpu_target = Device::cpu_targets().front();
    options.cpu_l1_kib = name == kJoined ? 32 : 48;
  } else if (name != "cpu") {
    options.cpu_target = name;
  }
  return Device::open("cpu", options);
}

/// Tests on the device that the parameter, or the first one of several, names.
template <class Parameter>
class OnDevice : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    auto opened = open_tested(device_name());
    if (!opened && on_gpu()) GTEST_SKIP() << opened.error().message;
    device_.emplace(must(std::move(opened)));
  }

  [[nodiscard]] const std::string& device_name() const {
    if constexpr (std::is_same_v<Parameter, std::string>) {
      return this->GetParam();
    } else {
      return std::get<0>(this->GetParam());
    }
  }
  [[nodiscard]] bool on_gpu() const { return device_name() == kCuda; }
  [[nodiscard]] const Device& device() const { return *device_; }

 private:
  std::optional<Device> device_;
};

inline std::string instance_text(const std::string& text) { return text; }
inline std::string instance_text(DType dtype) { return std::string(name(dtype)); }

/// Names an instance after its parameters: "AVX2", "cuda_bf16".
struct InstanceName {
  std::string operator()(const testing::TestParamInfo<std::string>& one) const { return one.param; }
  template <class Second>
  std::string operator()(const testing::TestParamInfo<std::tuple<std::string, Second>>& one) const {
    return std::get<0>(one.param) + "_" + instance_text(std::get<1>(one.param));
  }
};

}  // namespace norite::test
