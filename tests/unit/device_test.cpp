// SPDX-License-Identifier: MIT
#include "norite/device.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "norite/version.hpp"
#include "scoped_env.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::expect_refused;
using test::must;
using test::ScopedEnv;

// Whatever the caller's environment says, these tests begin without it.
class DeviceTest : public ::testing::Test {
 private:
  ScopedEnv device_{"NORITE_DEVICE", nullptr};
  ScopedEnv threads_{"NORITE_NUM_THREADS", nullptr};
  ScopedEnv target_{"NORITE_CPU_TARGET", nullptr};
  ScopedEnv l1_{"NORITE_CPU_L1_KIB", nullptr};
};

TEST_F(DeviceTest, list_names_what_can_be_opened) {
  const auto devices = Device::list();
  for (const char* id : {"cpu", "null"}) {
    EXPECT_EQ(std::ranges::count(devices, id, &DeviceInfo::id), 1) << id;
  }
  for (const DeviceInfo& listed : devices) {
    SCOPED_TRACE(listed.id);
    if (!listed.usable) {
      EXPECT_FALSE(listed.computes);
      EXPECT_FALSE(listed.details.empty());
      expect_error(Device::open(listed.id), Code::unavailable, {listed.details});
      continue;
    }
    const Device device = must(Device::open(listed.id));
    EXPECT_EQ(device.info().id, listed.id);
    EXPECT_EQ(device.info().details, listed.details);
    EXPECT_FALSE(listed.name.empty());
    EXPECT_GT(listed.memory_bytes, 0);
    EXPECT_GT(listed.limits.max_buffer_bytes, 0);
    EXPECT_GT(listed.limits.max_threads_per_group, 0);
    EXPECT_GT(listed.limits.max_group_memory_bytes, 0);
  }
}

TEST_F(DeviceTest, the_best_device_computes) {
  EXPECT_TRUE(must(Device::open()).info().computes);
  EXPECT_EQ(must(Device::open()).info().id, Device::list().front().id);
  EXPECT_FALSE(must(Device::open("null")).info().computes);
}

TEST_F(DeviceTest, an_unknown_id_is_unavailable_and_the_known_ones_are_listed) {
  expect_error(Device::open("tpu"), Code::unavailable, {"tpu", "cpu", "null"});
  expect_error(Device::open("CPU"), Code::unavailable);
  expect_error(Device::open("cpu "), Code::unavailable);
}

TEST_F(DeviceTest, the_environment_chooses_the_device_when_none_is_named) {
  const ScopedEnv chosen("NORITE_DEVICE", "null");
  EXPECT_EQ(must(Device::open()).info().id, "null");
  EXPECT_EQ(must(Device::open("cpu")).info().id, "cpu");
}

TEST_F(DeviceTest, an_unknown_device_in_the_environment_is_refused) {
  const ScopedEnv chosen("NORITE_DEVICE", "abacus");
  expect_error(Device::open(), Code::unavailable, {"abacus"});
}

TEST_F(DeviceTest, an_empty_variable_counts_as_unset) {
  const ScopedEnv device("NORITE_DEVICE", "");
  const ScopedEnv threads("NORITE_NUM_THREADS", "");
  const ScopedEnv target("NORITE_CPU_TARGET", "");
  EXPECT_EQ(must(Device::open()).info().id, Device::list().front().id);
  EXPECT_GE(must(Device::open("cpu")).info().threads, 1);
}

TEST_F(DeviceTest, threads_come_from_the_options_or_the_environment) {
  const ScopedEnv threads("NORITE_NUM_THREADS", "3");
  EXPECT_EQ(must(Device::open("cpu")).info().threads, 3);
  EXPECT_EQ(must(Device::open("cpu", {.threads = 5})).info().threads, 5);
  EXPECT_NE(must(Device::open("cpu")).info().details.find("3 threads"), std::string::npos);
  const auto devices = Device::list();
  EXPECT_EQ(std::ranges::find(devices, "cpu", &DeviceInfo::id)->threads, 3);
}

TEST_F(DeviceTest, an_l1_out_of_range_is_refused) {
  for (const int kib : {-1, 65537, INT32_MAX, INT32_MIN}) {
    expect_refused(Device::open("cpu", {.cpu_l1_kib = kib}), {"L1", std::to_string(kib)});
  }
  for (const char* text : {"0", "-1", "65537", "32K", "large", " 48"}) {
    const ScopedEnv l1("NORITE_CPU_L1_KIB", text);
    expect_refused(Device::open("cpu"), {"NORITE_CPU_L1_KIB", text});
    EXPECT_TRUE(Device::open("cpu", {.cpu_l1_kib = 48})) << "the option goes first";
    EXPECT_FALSE(Device::list().empty());
  }
  const ScopedEnv l1("NORITE_CPU_L1_KIB", "32");
  EXPECT_TRUE(Device::open("cpu"));
}

TEST_F(DeviceTest, a_time_limit_that_is_none_is_refused) {
  for (const double seconds : {-1.0, -1e-300, 1.1e6, HUGE_VAL, std::nan("")}) {
    expect_refused(Device::open("cpu", {.kernel_time_limit_seconds = seconds}), {"time limit"});
  }
}

// tests/msl/text_kernel_test.cpp has what they are for.
TEST_F(DeviceTest, guarded_buffers_hold_what_others_do) {
  const Device device = must(Device::open("cpu", {.threads = 2, .guard_buffers = true}));
  for (const int64_t size : {1, 15, 16, 4096, 5000, 3 << 20}) {
    Buffer buffer = must(device.empty(DType::u8, {size}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.host_data()) % 32, 0U);
    EXPECT_EQ(test::contents<uint8_t>(buffer), std::vector<uint8_t>(static_cast<size_t>(size)));
    const std::vector<std::byte> ones(static_cast<size_t>(size), std::byte{1});
    must(buffer.write(ones));
    EXPECT_EQ(test::contents<uint8_t>(buffer), std::vector<uint8_t>(static_cast<size_t>(size), 1));
  }
}

TEST_F(DeviceTest, a_thread_count_out_of_range_is_refused) {
  for (const int threads : {-1, 1025, INT32_MAX, INT32_MIN}) {
    expect_refused(Device::open("cpu", {.threads = threads}), {"threads", std::to_string(threads)});
  }
  for (const char* text : {"0", "-1", "1025", "two", "2x", " 2", "2 ", "1e1", "99999999999999"}) {
    const ScopedEnv threads("NORITE_NUM_THREADS", text);
    expect_refused(Device::open("cpu"), {"NORITE_NUM_THREADS", text});
    EXPECT_TRUE(Device::open("cpu", {.threads = 1})) << "the option goes first";
    EXPECT_FALSE(Device::list().empty());
  }
}

TEST_F(DeviceTest, every_simd_level_can_be_opened) {
  const auto targets = Device::cpu_targets();
  ASSERT_FALSE(targets.empty());
  for (const std::string& target : targets) {
    const Device device = must(Device::open("cpu", {.cpu_target = target}));
    EXPECT_EQ(device.info().details.find(target + ","), 0U) << device.info().details;
    const ScopedEnv chosen("NORITE_CPU_TARGET", target.c_str());
    EXPECT_EQ(must(Device::open("cpu")).info().details.find(target + ","), 0U);
  }
  EXPECT_EQ(must(Device::open("cpu")).info().details.find(targets.front() + ","), 0U)
      << "the best one unless told otherwise";
}

TEST_F(DeviceTest, an_unknown_simd_level_is_unsupported_and_the_known_ones_are_listed) {
  const std::string known = Device::cpu_targets().back();
  expect_error(Device::open("cpu", {.cpu_target = "MMX"}), Code::unsupported, {"MMX", known});
  const ScopedEnv chosen("NORITE_CPU_TARGET", "MMX");
  expect_error(Device::open("cpu"), Code::unsupported, {"MMX", known});
  EXPECT_TRUE(Device::open("cpu", {.cpu_target = known})) << "the option goes first";
}

TEST_F(DeviceTest, copies_refer_to_the_same_device) {
  const Device device = test::null_device();
  const Device copy = device;
  copy.close();
  expect_error(device.empty(DType::f32, {1}), Code::failed_precondition, {"closed"});
  copy.close();
}

TEST_F(DeviceTest, the_version_has_three_parts) {
  const std::string version = norite::version();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2);
  EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos);
}

class BufferTest : public ::testing::TestWithParam<const char*> {
 protected:
  Device device_ = must(Device::open(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(devices, BufferTest, ::testing::Values("null", "cpu"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(BufferTest, a_new_one_is_zero_and_aligned) {
  for (const int64_t bytes : {1, 63, 64, 4097, (2 << 20) - 1, 2 << 20, (2 << 20) + 1}) {
    const Buffer buffer = must(device_.empty(DType::u8, {bytes}));
    EXPECT_EQ(buffer.size_bytes(), bytes);
    const auto values = test::contents<uint8_t>(buffer);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.host_data()) % 16, 0U);
  }
}

TEST_P(BufferTest, rank_zero_is_one_element) {
  const Buffer buffer = must(device_.empty(DType::f16, {}));
  EXPECT_EQ(buffer.count(), 1);
  EXPECT_EQ(buffer.size_bytes(), 2);
}

TEST_P(BufferTest, a_shape_that_cannot_be_is_refused) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  expect_refused(device_.empty(DType::f32, {3, 0}), {"buffer", "[3, 0]"});
  expect_refused(device_.empty(DType::f32, {-1}), {"buffer", "[-1]"});
  expect_refused(device_.empty(DType::u8, {kHuge, kHuge}), {"buffer"});
  expect_refused(device_.empty(DType::f32, {INT64_MAX}), {"buffer"});
  expect_refused(device_.empty(DType::u8, {1, 1, 1, 1, 1, 1, 1, 1, 1}), {"more than 8 axes"});
}

TEST_P(BufferTest, more_than_the_memory_there_is_is_out_of_memory) {
  const int64_t memory = device_.info().memory_bytes;
  expect_error(device_.empty(DType::u8, {memory + 1}), Code::out_of_memory,
               {"buffer", GetParam(), std::to_string(memory + 1)});
  expect_error(device_.empty(DType::f32, {INT64_MAX / 8}), Code::out_of_memory);
}

TEST_P(BufferTest, it_outlives_its_device) {
  std::optional<Device> device = must(Device::open(GetParam()));
  Buffer buffer = must(device->empty(DType::i32, {2}));
  device.reset();
  const std::vector<int32_t> values = {1, 2};
  must(buffer.write(std::as_bytes(std::span(values))));
  EXPECT_EQ(test::contents<int32_t>(buffer), values);
}

TEST_P(BufferTest, copies_share_the_memory) {
  Buffer buffer = must(device_.empty(DType::i32, {2}));
  const Buffer copy = buffer;
  const std::vector<int32_t> values = {1, 2};
  must(buffer.write(std::as_bytes(std::span(values))));
  EXPECT_EQ(test::contents<int32_t>(copy), values);
  EXPECT_FALSE(Buffer());
  EXPECT_EQ(Buffer().host_data(), nullptr);
  EXPECT_EQ(Buffer().capacity_bytes(), 0);
}

}  // namespace
}  // namespace norite
