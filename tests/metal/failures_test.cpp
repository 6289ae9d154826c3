// SPDX-License-Identifier: MIT
// What goes wrong with a GPU, and how it is told: each its own error, other devices unaffected.
#include "metal/metal_support.hpp"

namespace norite {
namespace {

using test::contents;
using test::expect_error;
using test::must;

constexpr const char* kAddOne = "kernel void add_one(device int* x [[buffer(0)]]) { x[0] += 1; }\n";

class FailuresTest : public test::MetalTest {
 protected:
  /// Submits the kernel once under each of these labels.
  static Result<void> run(const Device& device, const Buffer& x,
                          std::initializer_list<std::string_view> labels) {
    if (!device.registry().contains("add_one")) {
      NORITE_TRY(device.registry().register_source("add_one", kAddOne));
    }
    NORITE_TRY_ASSIGN(const Pipeline pipeline, device.registry().get_pipeline({.name = "add_one"}));
    Encoder encoder = device.encoder();
    const Argument arguments[] = {x};
    for (const std::string_view label : labels) {
      NORITE_TRY(encoder.dispatch(pipeline, arguments, {}, label));
    }
    return encoder.submit_and_wait();
  }

  static void expect_cpu_works() {
    const Device cpu = test::cpu_device();
    const Buffer x = must(cpu.empty(DType::i32, {1}));
    must(run(cpu, x, {"on the CPU"}));
    EXPECT_EQ(contents<int>(x)[0], 1);
  }
};

TEST_F(FailuresTest, no_device) {
  stand_in().devices = 0;
  expect_error(Device::open("metal"), Code::unavailable, {"metal", "0 GPUs"});
  EXPECT_EQ(std::ranges::count(Device::list(), "metal", &DeviceInfo::backend), 0);
  EXPECT_EQ(must(Device::open()).info().backend, "cpu");
}

TEST_F(FailuresTest, macos_too_old) {
  stand_in().system_major = 13;
  expect_error(Device::open("metal"), Code::unavailable, {"Version 13.0", "too old", "14"});
  EXPECT_EQ(must(Device::open()).info().backend, "cpu");
}

TEST_F(FailuresTest, another_makers_gpu) {
  stand_in().apple_family = 0;
  expect_error(Device::open("metal"), Code::unavailable, {"Apple silicon"});
}

TEST_F(FailuresTest, memory_refused) {
  stand_in().memory_bytes = 10000;
  const Device device = must(Device::open("metal"));
  const Buffer first = must(device.empty(DType::u8, {5000}));
  const Buffer second = must(device.empty(DType::u8, {4000}));
  expect_error(device.empty(DType::u8, {2000}), Code::out_of_memory,
               {"2000 bytes", "9000 of 10000"});
  expect_error(device.empty(DType::u8, {6000}), Code::out_of_memory, {"6000", "at most 5000"});
}

TEST_F(FailuresTest, kernel_refused_by_the_compiler) {
  const Device device = must(Device::open("metal"));
  must(device.registry().register_source(
      "bad", {"#include <metal_stdlib>\n\nkernel void bad(device int* x [[buffer(0)]]) {\n"
              "  x[0] = missing;\n}\n",
              "folder/bad.metal"}));
  const auto refused = device.registry().get_pipeline({.name = "bad"});
  expect_error(refused, Code::compile_failed, {"\"bad\"", "Metal refused"});
  EXPECT_NE(refused.error().log.find("folder/bad.metal:4:10: error:"), std::string::npos);

  stand_in().compile_error = "other.metal:1:2: error: no\nother.metal:3:4: error: never\n";
  const auto told = kernel(device, "add_one", kAddOne);
  expect_error(told, Code::compile_failed, {"add_one"});
  EXPECT_EQ(told.error().log, stand_in().compile_error);
  expect_cpu_works();
}

TEST_F(FailuresTest, a_simd_width_that_kernels_do_not_know) {
  stand_in().execution_width = 64;
  const Device device = must(Device::open("metal"));
  expect_error(kernel(device, "add_one", kAddOne), Code::unsupported, {"add_one", "64", "32"});
}

TEST_F(FailuresTest, too_many_threads_for_the_kernel) {
  stand_in().max_threads = 256;
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "add_one", kAddOne));
  const Buffer x = must(device.empty(DType::i32, {1}));
  const Argument arguments[] = {x};
  Encoder encoder = device.encoder();
  expect_error(encoder.dispatch(pipeline, arguments, {.threads = {512, 1, 1}}),
               Code::invalid_argument, {"512", "256"});
}

TEST_F(FailuresTest, a_fault_names_its_dispatch_and_ends_only_its_work) {
  const Device device = must(Device::open("metal"));
  const Buffer x = must(device.empty(DType::i32, {1}));
  stand_in().failing_dispatch = "second";
  expect_error(run(device, x, {"first", "second", "third"}), Code::execution_failed,
               {"second: ", "told to fail"});
  stand_in().blames = false;
  expect_error(run(device, x, {"first", "second"}), Code::execution_failed,
               {"one of first, second", "told to fail"});
  must(run(device, x, {"first"}));
  EXPECT_EQ(contents<int>(x)[0], 1);
  expect_cpu_works();
}

TEST_F(FailuresTest, a_timeout_and_lack_of_memory_are_told_apart) {
  const Device device = must(Device::open("metal"));
  const Buffer x = must(device.empty(DType::i32, {1}));
  stand_in().failing_dispatch = "slow";
  stand_in().error_code = 2;
  expect_error(run(device, x, {"slow"}), Code::timeout, {"slow"});
  stand_in().error_code = 8;
  expect_error(run(device, x, {"slow"}), Code::out_of_memory, {"slow"});
  must(run(device, x, {"quick"}));
}

TEST_F(FailuresTest, a_gpu_that_is_taken_away_is_lost) {
  const Device device = must(Device::open("metal"));
  Buffer x = must(device.empty(DType::i32, {1}));
  stand_in().failing_dispatch = "hanging";
  stand_in().error_code = 4;
  expect_error(run(device, x, {"hanging"}), Code::unavailable, {"hanging", "lost"});
  expect_error(run(device, x, {"other"}), Code::unavailable, {"lost", "hanging"});
  expect_error(device.empty(DType::i32, {1}), Code::unavailable, {"lost"});
  EXPECT_EQ(contents<int>(x)[0], 0);  // memory is still the host's
  expect_cpu_works();
}

TEST_F(FailuresTest, an_event_tells_of_a_fault) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "add_one", kAddOne));
  const Buffer x = must(device.empty(DType::i32, {1}));
  stand_in().failing_dispatch = "add_one";
  Encoder encoder = device.encoder();
  const Argument arguments[] = {x};
  must(encoder.dispatch(pipeline, arguments));
  const Event event = must(encoder.submit());
  expect_error(event.wait(), Code::execution_failed, {"add_one"});
}

}  // namespace
}  // namespace norite
