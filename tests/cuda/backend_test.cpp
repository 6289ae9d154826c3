// SPDX-License-Identifier: MIT
// Memory, launches and failures of the CUDA backend, on a GPU that is none.
#include <cstring>
#include <numeric>

#include "backends/cuda/launch.hpp"
#include "cuda/cuda_support.hpp"
#include "msl/shim/cuda_abi.h"

namespace norite {
namespace {

using norite_msl::GridShape;
using test::contents;
using test::expect_error;
using test::must;
using test::StandInLaunch;

constexpr const char* kScale =
    "#include <metal_stdlib>\n"
    "struct Params { float scale; uint count; };\n"
    "kernel void scale(device float* y [[buffer(0)]], device const float* x [[buffer(2)]],\n"
    "                  constant Params& params [[buffer(3)]], constant float* table "
    "[[buffer(4)]],\n"
    "                  uint i [[thread_position_in_grid]]) {\n"
    "  y[i] = x[i] * params.scale + table[0];\n"
    "}\n";

struct Params {
  float scale;
  unsigned count;
};

template <class T>
T parameter(const StandInLaunch& launch, size_t i) {
  T value;
  std::memcpy(&value, launch.parameters[i], sizeof value);
  return value;
}

class CudaBackendTest : public test::CudaTest {
 protected:
  CudaBackendTest() { stand_in().buffer_bytes = {4, 0, 4, sizeof(Params), 4}; }

  /// Records the kernel above on two buffers of four floats.
  Result<void> dispatch(Encoder& encoder, const Pipeline& pipeline, std::string_view label = {}) {
    NORITE_TRY_ASSIGN(Buffer x, encoder.device().empty(DType::f32, {4}));
    NORITE_TRY_ASSIGN(Buffer y, encoder.device().empty(DType::f32, {4}));
    const Argument arguments[] = {y, {}, x, Argument::bytes(Params{2, 4}), Argument::bytes(1.0F)};
    return encoder.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}, label);
  }
};

TEST_F(CudaBackendTest, memory_is_zero_and_copies_arrive_in_pieces) {
  for (const bool pools : {true, false}) {
    stand_in().pools = pools;
    const Device device = must(open());
    for (const int64_t bytes : {1, (4 << 20) - 1, 4 << 20, (9 << 20) + 3}) {
      Buffer buffer = must(device.empty(DType::u8, {bytes}));
      EXPECT_EQ(buffer.host_data(), nullptr);
      std::vector<uint8_t> values(static_cast<size_t>(bytes));
      EXPECT_EQ(contents<uint8_t>(buffer), values);
      std::iota(values.begin(), values.end(), uint8_t{0});
      must(buffer.write(std::as_bytes(std::span(values))));
      EXPECT_EQ(contents<uint8_t>(buffer), values);
    }
  }
  EXPECT_EQ(stand_in().live_allocations, 0);
}

TEST_F(CudaBackendTest, kernels_are_launched_ahead_and_all_at_once) {
  constexpr const char* kPlain = "kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }";
  constexpr const char* kWaiting =
      "[[kernel, max_total_threads_per_threadgroup(32), cooperative(2)]] void k(device int* x "
      "[[buffer(0)]]) { x[0] = 1; }";
  using Attributes = std::vector<int>;
  const auto attributes_of = [&](int capability, const char* text) {
    stand_in().capability = capability;
    stand_in().launches.clear();
    const Device device = must(open());
    const Pipeline pipeline = must(kernel(device, "k", text));
    Encoder encoder = device.encoder();
    const Argument arguments[] = {must(device.empty(DType::i32, {1}))};
    must(encoder.dispatch(pipeline, arguments, {}));
    must(encoder.submit_and_wait());
    return stand_in().launches.at(0).attributes;
  };
  constexpr int kAhead = cuda::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  constexpr int kAllAtOnce = cuda::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  EXPECT_EQ(attributes_of(90, kPlain), Attributes{kAhead});
  EXPECT_EQ(attributes_of(80, kPlain), Attributes{});
  EXPECT_EQ(attributes_of(90, kWaiting), (Attributes{kAllAtOnce, kAhead}));
  EXPECT_EQ(attributes_of(80, kWaiting), Attributes{kAllAtOnce});
}

TEST_F(CudaBackendTest, out_of_memory) {
  const Device device = must(open());
  stand_in().failing = "cuMemAllocAsync";
  stand_in().error = cuda::CUDA_ERROR_OUT_OF_MEMORY;
  expect_error(device.empty(DType::f32, {1000}), Code::out_of_memory,
               {"cuda", "4000 bytes", "1000 of 2000 free"});
  stand_in().failing.clear();
  must(device.empty(DType::f32, {1000}));
}

TEST_F(CudaBackendTest, arguments_travel_as_the_kernel_takes_them) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  EXPECT_EQ(pipeline.parameters()[3].min_bytes, 8);
  float seen = 0;
  stand_in().on_launch = [&](const StandInLaunch& launch) {
    EXPECT_EQ(parameter<Params>(launch, 2).scale, 2);   // by value
    seen = *parameter<const float*>(launch, 3);         // constants behind a pointer
    EXPECT_EQ(*parameter<const float*>(launch, 1), 0);  // a buffer
    parameter<float*>(launch, 0)[1] = 5;
    const auto shape = parameter<GridShape>(launch, 4);
    EXPECT_EQ(shape.groups[0], 3U);
    EXPECT_EQ(shape.threads[0], 10U);
    EXPECT_EQ(shape.ragged, 1U);
    EXPECT_EQ(shape.folded, 0U);
  };
  Encoder encoder = device.encoder({.timing = Timing::each});
  const Buffer x = must(device.empty(DType::f32, {10}));
  const Buffer y = must(device.empty(DType::f32, {10}));
  const Argument arguments[] = {y, {}, x, Argument::bytes(Params{2, 10}), Argument::bytes(1.5F)};
  must(encoder.dispatch(pipeline, arguments, Grid::of_threads({10, 1, 1}, {4, 1, 1})));
  must(encoder.submit_and_wait());
  EXPECT_EQ(seen, 1.5F);
  EXPECT_EQ(contents<float>(y)[1], 5);
  EXPECT_EQ(stand_in().launches.at(0).blocks, (std::array{3U, 1U, 1U}));
  EXPECT_EQ(stand_in().launches.at(0).threads, (std::array{4U, 1U, 1U}));
  ASSERT_EQ(encoder.timings().size(), 1U);
  EXPECT_EQ(encoder.timings()[0].duration_us, 250);
}

TEST_F(CudaBackendTest, memory_behind_a_reference_takes_another_form) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const size_t compiled = stand_in().compiled.size();
  const Buffer x = must(device.empty(DType::f32, {4}));
  const Buffer y = must(device.empty(DType::f32, {4}));
  const Buffer params = must(device.empty(DType::f32, {2}));
  stand_in().on_launch = [](const StandInLaunch& launch) {
    EXPECT_EQ(parameter<const Params*>(launch, 2)->scale, 0);
  };
  for (int repeat = 0; repeat < 2; ++repeat) {
    Encoder encoder = device.encoder();
    const Argument arguments[] = {y, {}, x, params, x};
    must(encoder.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}));
    must(encoder.submit_and_wait());
  }
  EXPECT_EQ(stand_in().launches.size(), 2U);
  EXPECT_LE(stand_in().compiled.size(), compiled + 1);
}

TEST_F(CudaBackendTest, constants_go_round_in_their_ring) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  float expected = 0;
  stand_in().on_launch = [&](const StandInLaunch& launch) {
    EXPECT_EQ(*parameter<const float*>(launch, 3), expected++);
  };
  const Buffer x = must(device.empty(DType::f32, {4}));
  Encoder encoder = device.encoder();
  for (int i = 0; i < 5000; ++i) {
    const Argument arguments[] = {
        x, {}, x, Argument::bytes(Params{2, 4}), Argument::bytes(static_cast<float>(i))};
    must(encoder.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}));
  }
  must(encoder.submit_and_wait());
  EXPECT_EQ(expected, 5000);
}

TEST_F(CudaBackendTest, threadgroup_slots_lie_behind_each_other) {
  const Device device = must(open());
  stand_in().own_shared_bytes = 1024;
  const Pipeline pipeline = must(kernel(
      device, "slots",
      "kernel void slots(device float* y [[buffer(0)]], threadgroup float* a [[threadgroup(0)]],\n"
      "                  threadgroup float* b [[threadgroup(1)]]) { y[0] = a[0] + b[0]; }"));
  stand_in().on_launch = [](const StandInLaunch& launch) {
    EXPECT_EQ(parameter<unsigned>(launch, 1), 0U);
    EXPECT_EQ(parameter<unsigned>(launch, 2), 112U);
  };
  const auto run = [&](std::vector<int64_t> bytes) -> Result<void> {
    NORITE_TRY_ASSIGN(Buffer y, device.empty(DType::f32, {4}));
    Encoder encoder = device.encoder();
    const Argument arguments[] = {y};
    NORITE_TRY(encoder.dispatch(pipeline, arguments, {.threadgroup_memory = std::move(bytes)}));
    return encoder.submit_and_wait();
  };
  must(run({100, 100000}));
  EXPECT_EQ(stand_in().launches.at(0).shared_bytes, 100112U);
  expect_error(run({112, 232448 - 112}), Code::invalid_argument, {"slots", "232448", "231424"});
}

TEST_F(CudaBackendTest, grids_past_the_limits_of_cuda_are_folded) {
  const auto plain =
      must(cuda::launch_shape({.groups = {1 << 30, 65535, 1}, .threads = {2, 4, 1}}));
  EXPECT_FALSE(plain.folded);
  EXPECT_EQ(plain.blocks, (std::array{1U << 30, 65535U, 1U}));
  const auto tall = must(cuda::launch_shape({.groups = {3, 65536, 7}}));
  EXPECT_TRUE(tall.folded);
  EXPECT_EQ(tall.blocks, (std::array{3U * 65536U * 7U, 1U, 1U}));
  const auto wide = must(cuda::launch_shape({.groups = {3'000'000'000, 1, 1}}));
  EXPECT_EQ(wide.blocks, (std::array{1'500'000'000U, 2U, 1U}));
  EXPECT_EQ(wide.groups[0], 3'000'000'000U);
  expect_error(cuda::launch_shape({.groups = {int64_t{1} << 32, 1, 1}}), Code::invalid_argument,
               {"4294967295 threads in x"});
  expect_error(cuda::launch_shape({.threads = {1, 1, 65}}), Code::invalid_argument, {"65", "64"});
}

TEST_F(CudaBackendTest, groups_and_grids_that_cannot_be_launched_are_refused_when_recorded) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "nothing", "kernel void nothing() {}"));
  Encoder encoder = device.encoder();
  const auto expect_refused = [&](const Grid& grid, std::initializer_list<std::string_view> words) {
    expect_error(encoder.dispatch(pipeline, {}, grid), Code::invalid_argument, words);
  };
  expect_refused({.threads = {1025, 1, 1}}, {"nothing", "1025 x 1 x 1", "1024"});
  expect_refused({.threads = {1, 1025, 1}}, {"1 x 1025 x 1", "1024"});
  expect_refused({.threads = {1, 1, 65}}, {"nothing", "65 threads a group in z", "64"});
  expect_refused({.threads = {32, 32, 2}}, {"32 x 32 x 2", "1024"});
  expect_refused({.threads = {INT64_MAX, 2, 1}}, {"1024"});
  expect_refused({.groups = {int64_t{1} << 32, 1, 1}}, {"4294967295 threads in x"});
  expect_refused({.groups = {1, int64_t{1} << 31, 1}, .threads = {1, 2, 1}}, {"threads in y"});
  expect_refused({.groups = {UINT32_MAX, UINT32_MAX, UINT32_MAX}}, {"groups are too many"});
  must(encoder.dispatch(pipeline, {}, {.groups = {1, 1, 65536}, .threads = {4, 4, 64}}));
  must(encoder.dispatch(pipeline, {}, {.threads = {1, 1024, 1}}));
  must(encoder.submit_and_wait());
  EXPECT_EQ(stand_in().launches.size(), 2U);
}

TEST_F(CudaBackendTest, a_refused_kernel_comes_with_the_log) {
  const Device device = must(open());
  const auto refused =
      kernel(device, "bad", "kernel void bad(device int* refuse_this [[buffer(0)]]) {}");
  expect_error(refused, Code::compile_failed, {"bad", "NVRTC"});
  EXPECT_NE(refused.error().log.find("user.metal(3): error"), std::string::npos);
}

TEST_F(CudaBackendTest, a_launch_that_fails_is_the_dispatch_s_error) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  for (const bool waits : {true, false}) {
    stand_in().failing = "cuLaunchKernelEx";
    stand_in().error = cuda::CUDA_ERROR_INVALID_VALUE;
    stand_in().calls_before = 1;
    Encoder encoder = device.encoder();
    must(dispatch(encoder, pipeline, "first"));
    must(dispatch(encoder, pipeline, "second"));
    if (!waits) must(encoder.submit());
    expect_error(waits ? encoder.submit_and_wait() : encoder.wait(), Code::execution_failed,
                 {"second", "CUDA_ERROR_INVALID_VALUE"});
    stand_in().failing.clear();
    Encoder next = device.encoder();
    must(dispatch(next, pipeline));
    must(next.submit_and_wait());
  }
}

TEST_F(CudaBackendTest, a_fault_loses_the_device_and_nothing_else) {
  for (const bool waits : {true, false}) {
    SCOPED_TRACE(waits);
    const Device device = must(open());
    const Pipeline pipeline = must(kernel(device, "scale", kScale));
    Buffer buffer = must(device.empty(DType::f32, {4}));
    stand_in().fault_after_launch = cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
    Encoder encoder = device.encoder();
    must(dispatch(encoder, pipeline, "first"));
    must(dispatch(encoder, pipeline, "second"));
    if (!waits) must(encoder.submit());
    expect_error(waits ? encoder.submit_and_wait() : encoder.wait(), Code::execution_failed,
                 {"one of first, second", "illegal memory access"});

    const auto lost = {
        std::string_view("cuda is lost, which showed first in one of first, second")};
    expect_error(device.empty(DType::f32, {4}), Code::unavailable, lost);
    float value = 0;
    expect_error(buffer.read(std::as_writable_bytes(std::span(&value, 1))), Code::unavailable,
                 lost);
    expect_error(buffer.write(std::as_bytes(std::span(&value, 1))), Code::unavailable, lost);
    expect_error(device.encoder().submit(), Code::unavailable, lost);
    expect_error(device.encoder().submit_and_wait(), Code::unavailable, lost);
    expect_error(kernel(device, "other", kScale), Code::unavailable, lost);
    device.close();
    must(must(Device::open("cpu")).empty(DType::f32, {4}));
    reset();
  }
}

TEST_F(CudaBackendTest, a_fault_is_that_of_all_devices_on_its_gpu_and_of_no_other_gpu) {
  stand_in().devices = 2;
  const auto driver = must(cuda::load_driver());
  const auto nvrtc = must(cuda::load_nvrtc(driver->version));
  const auto open_gpu = [&](int index) {
    auto backend = must(cuda::open(driver, nvrtc, index, {}));
    return core::DeviceState::handle(std::make_shared<core::DeviceState>(std::move(backend)));
  };
  const auto run = [this](const Device& device, const char* label) -> Result<void> {
    NORITE_TRY_ASSIGN(const Pipeline pipeline, device.registry().get_pipeline({.name = "scale"}));
    Encoder encoder = device.encoder();
    NORITE_TRY(dispatch(encoder, pipeline, label));
    return encoder.submit_and_wait();
  };
  const Device guilty = open_gpu(0), beside = open_gpu(0), elsewhere = open_gpu(1);
  for (const Device& device : {guilty, beside, elsewhere}) must(kernel(device, "scale", kScale));
  stand_in().fault_after_launch = cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
  expect_error(run(guilty, "guilty"), Code::execution_failed, {"guilty"});
  stand_in().fault_after_launch = 0;
  expect_error(run(beside, "innocent"), Code::unavailable,
               {"cuda is lost, which showed first in guilty"});
  must(run(elsewhere, "elsewhere"));
}

TEST_F(CudaBackendTest, a_kernel_that_found_no_memory_is_tried_again) {
  const Device device = must(open());
  must(device.registry().register_source("scale", kScale));
  stand_in().failing = "cuModuleLoadData";
  stand_in().error = cuda::CUDA_ERROR_OUT_OF_MEMORY;
  expect_error(device.registry().get_pipeline({.name = "scale"}), Code::out_of_memory,
               {"kernel \"scale\"", "loading"});
  stand_in().failing.clear();
  must(device.registry().get_pipeline({.name = "scale"}));
}

TEST_F(CudaBackendTest, a_form_that_found_no_memory_is_tried_again) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4})), y = must(device.empty(DType::f32, {4}));
  const Buffer params = must(device.empty(DType::u32, {2}));  // in memory: another form
  const auto run = [&]() -> Result<void> {
    Encoder encoder = device.encoder();
    const Argument arguments[] = {y, {}, x, params, Argument::bytes(1.0F)};
    NORITE_TRY(encoder.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}));
    return encoder.submit_and_wait();
  };
  stand_in().failing = "cuModuleLoadData";
  stand_in().error = cuda::CUDA_ERROR_OUT_OF_MEMORY;
  expect_error(run(), Code::out_of_memory, {"scale"});
  stand_in().error = cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  expect_error(run(), Code::unsupported, {"cannot load"});
  stand_in().failing.clear();
  expect_error(run(), Code::unsupported, {"cannot load"});  // which lasts
}

TEST_F(CudaBackendTest, a_lost_gpu_is_not_opened_again) {
  const auto driver = must(cuda::load_driver());
  const auto nvrtc = must(cuda::load_nvrtc(driver->version));
  auto backend = must(cuda::open(driver, nvrtc, 0, {}));
  const Device device =
      core::DeviceState::handle(std::make_shared<core::DeviceState>(std::move(backend)));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  stand_in().fault_after_launch = cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
  Encoder encoder = device.encoder();
  must(dispatch(encoder, pipeline, "wild"));
  expect_error(encoder.submit_and_wait(), Code::execution_failed, {"wild"});
  int stream = 0;
  expect_error(cuda::open(driver, nvrtc, 0, {.cuda_stream = &stream}), Code::unavailable,
               {"cuda is lost", "wild"});
}

TEST_F(CudaBackendTest, submitted_work_outlives_its_device_s_handles) {
  Event event;
  {
    const Device device = must(open());
    const Pipeline pipeline = must(kernel(device, "scale", kScale));
    for (int i = 0; i < 20; ++i) {
      Encoder encoder = device.encoder();
      must(dispatch(encoder, pipeline));
      event = must(encoder.submit());
    }
  }
  must(event.wait());
  EXPECT_EQ(stand_in().launches.size(), 20U);
}

}  // namespace
}  // namespace norite
