// SPDX-License-Identifier: MIT
// The Metal standard library: each kernel of shim/ writes the results of many expressions, and the
// file beside it says what they are, worked out independently.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "msl/shim_files.hpp"
#include "ops/tested_device.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::must;

struct Expected {
  size_t index;
  double value;
  double tolerance;
  std::string expression;
};

// "index value tolerance  // expression"
std::vector<Expected> read_expected(const std::filesystem::path& path) {
  std::vector<Expected> result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Expected expected;
    std::string value;
    if (!(words >> expected.index >> value >> expected.tolerance)) continue;
    expected.value = std::stod(value);
    std::getline(words, expected.expression);
    result.push_back(std::move(expected));
  }
  return result;
}

bool agrees(double seen, const Expected& expected) {
  if (std::isnan(expected.value)) return std::isnan(seen);
  if (std::isinf(expected.value)) return seen == expected.value;
  return std::abs(seen - expected.value) <= expected.tolerance;
}

Result<Device> open_shim_device(const std::string& name) {
  if (name == test::kCuda) return Device::open(name);
  return Device::open("cpu", {.threads = 1, .checked = name == "checked"});
}

/// The device, and what is computed there.
class Shim : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Shim, ComputesWhatMetalDoes) {
  const auto& [device_name, subject] = GetParam();
  const auto opened = open_shim_device(device_name);
  if (!opened && device_name == test::kCuda) GTEST_SKIP() << opened.error().message;
  if (device_name == test::kCuda && subject == "simd_in_branch") {
    GTEST_SKIP() << "not supported on CUDA (docs/cuda.md, kernels of your own)";
  }
  const Device device = must(opened);
  const KernelText text = test::shim_text(subject);
  const auto expected = read_expected(test::shim_folder() / (subject + ".expected"));
  ASSERT_FALSE(expected.empty());
  const std::string entry = must(inspect_kernels(text)).kernels.at(0).name;

  must(device.registry().register_source(entry, text));
  const auto pipeline = device.registry().get_pipeline({.name = entry});
  ASSERT_TRUE(pipeline) << pipeline.error().message << '\n' << pipeline.error().log;
  const auto size = static_cast<int64_t>(expected.back().index) + 1;
  const Buffer out = must(device.empty(DType::f32, {size}));
  Encoder encoder = device.encoder();
  const Argument arguments[] = {out};
  must(encoder.dispatch(*pipeline, arguments, {.threads = {32, 1, 1}}));
  must(encoder.submit_and_wait());

  const auto seen = test::contents<float>(out);
  for (const Expected& one : expected) {
    EXPECT_TRUE(agrees(seen.at(one.index), one))
        << one.index << one.expression << ": " << seen[one.index] << ", expected " << one.value;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Shim,
                         testing::Combine(testing::Values("cpu", "checked", test::kCuda),
                                          testing::ValuesIn(test::shim_subjects())),
                         test::InstanceName());

}  // namespace
}  // namespace norite
