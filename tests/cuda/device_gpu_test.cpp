// SPDX-License-Identifier: MIT
// What only a real NVIDIA GPU can show. Skipped where there is none.
#include <gtest/gtest.h>
#include <norite/norite.hpp>

#include <numeric>
#include <thread>

#include "support.hpp"

namespace norite {
namespace {

using test::buffer_of;
using test::contents;
using test::expect_error;
using test::must;

class CudaGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open("cuda");
    if (!opened) GTEST_SKIP() << opened.error().message;
    device_.emplace(*std::move(opened));
  }

  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] Pipeline kernel(const std::string& name, const std::string& text) const {
    must(device().registry().register_source(name, "using namespace metal;\n" + text));
    auto pipeline = device().registry().get_pipeline({.name = name});
    if (!pipeline) throw std::runtime_error(pipeline.error().message + "\n" + pipeline.error().log);
    return *pipeline;
  }
  void run(const Pipeline& pipeline, const std::vector<Argument>& arguments,
           const Grid& grid) const {
    Encoder encoder = device().encoder();
    must(encoder.dispatch(pipeline, arguments, grid));
    must(encoder.submit_and_wait());
  }

 private:
  std::optional<Device> device_;
};

TEST_F(CudaGpuTest, copies_there_and_back) {
  for (const size_t count : {size_t{1}, size_t{1} << 20, (size_t{5} << 20) + 7}) {
    EXPECT_EQ(contents<int32_t>(must(device().empty(DType::i32, {static_cast<int64_t>(count)}))),
              std::vector<int32_t>(count));
    std::vector<int32_t> values(count);
    std::iota(values.begin(), values.end(), 1);
    EXPECT_EQ(contents<int32_t>(buffer_of(device(), DType::i32, values)), values);
  }
}

TEST_F(CudaGpuTest, every_thread_of_a_ragged_grid_knows_its_place) {
  const Pipeline pipeline = kernel("place", R"(
    kernel void place(device uint* y [[buffer(0)]], uint3 at [[thread_position_in_grid]],
                      uint3 size [[threads_per_grid]], uint3 group [[threads_per_threadgroup]]) {
      y[at.x + size.x * (at.y + size.y * at.z)] += 1 + 1000 * group.x;
    })");
  const Buffer y = must(device().empty(DType::u32, {100 * 7 * 5}));
  run(pipeline, {y}, Grid::of_threads({100, 7, 5}, {32, 4, 2}));
  const auto values = contents<uint32_t>(y);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], i % 100 < 96 ? 32001U : 4001U) << i;
  }
}

TEST_F(CudaGpuTest, grids_past_the_limits_of_cuda) {
  const Pipeline pipeline = kernel("groups", R"(
    kernel void groups(device uint* y [[buffer(0)]], uint3 group [[threadgroup_position_in_grid]],
                       uint3 count [[threadgroups_per_grid]],
                       uint i [[thread_index_in_threadgroup]]) {
      if (i == 0) y[group.x + count.x * (group.y + count.y * group.z)] = group.y + 1;
    })");
  Buffer y = must(device().empty(DType::u32, {3 * 70000 * 2}));
  run(pipeline, {y}, {.groups = {3, 70000, 2}});
  const auto tall = contents<uint32_t>(y);
  for (size_t i = 0; i < tall.size(); ++i) ASSERT_EQ(tall[i], i / 3 % 70000 + 1) << i;

  // Of 1024 threads: more than 2^31.
  const int64_t many = test::as_many_on(device(), (int64_t{1} << 21) + 1, 1000);
  y = must(device().empty(DType::u32, {many}));
  run(pipeline, {y}, {.groups = {many, 1, 1}, .threads = {1024, 1, 1}});
  EXPECT_EQ(contents<uint32_t>(y), std::vector<uint32_t>(static_cast<size_t>(many), 1));
}

TEST_F(CudaGpuTest, much_threadgroup_memory) {
  const Pipeline pipeline = kernel("reverse", R"(
    kernel void reverse(device uint* y [[buffer(0)]], threadgroup uint* a [[threadgroup(0)]],
                        threadgroup uint* b [[threadgroup(1)]],
                        uint i [[thread_index_in_threadgroup]]) {
      for (uint k = i; k < 20000; k += 256) a[k] = k;
      b[i] = 1;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint k = i; k < 20000; k += 256) y[k] = a[19999 - k] + b[255 - i];
    })");
  const Buffer y = must(device().empty(DType::u32, {20000}));
  run(pipeline, {y}, {.threads = {256, 1, 1}, .threadgroup_memory = {80000, 1024}});
  const auto values = contents<uint32_t>(y);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 20000 - i);
}

TEST_F(CudaGpuTest, constants_by_value_by_pointer_and_in_memory) {
  struct Params {
    float scale;
    uint32_t offset;
  };
  struct Table {
    float values[400];  // too large to travel with the launch
  };
  const Pipeline pipeline = kernel("constants", R"(
    struct Params { float scale; uint offset; };
    struct Table { float values[400]; };
    kernel void constants(device float* y [[buffer(0)]], constant Params& params [[buffer(1)]],
                          constant float* table [[buffer(2)]], constant Table& large [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
      y[i] = params.scale * table[params.offset] + large.values[i];
    })");
  Table large;
  std::iota(std::begin(large.values), std::end(large.values), 0.0F);
  const std::array<float, 4> table = {1, 2, 3, 4};
  const Buffer y = must(device().empty(DType::f32, {400}));
  run(pipeline, {y, Argument::bytes(Params{10, 2}), Argument::bytes(table), Argument::bytes(large)},
      {.threads = {400, 1, 1}});
  EXPECT_EQ(contents<float>(y)[399], 429);

  Buffer params = must(device().empty(DType::u8, {sizeof(Params)}));
  const Params other = {100, 3};
  must(params.write(std::as_bytes(std::span(&other, 1))));
  run(pipeline, {y, params, Argument::bytes(table), Argument::bytes(large)},
      {.threads = {400, 1, 1}});
  EXPECT_EQ(contents<float>(y)[399], 799);
}

TEST_F(CudaGpuTest, threads_share_the_device) {
  const Pipeline pipeline = kernel("add", R"(
    kernel void add(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1; }
  )");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, waits = t % 2 == 0] {
      const Buffer y = must(device().empty(DType::u32, {1024}));
      Event last;
      for (int i = 0; i < 200; ++i) {
        Encoder encoder = device().encoder();
        const Argument arguments[] = {y};
        for (int k = 0; k < 5; ++k) {
          must(
              encoder.dispatch(pipeline, arguments, {.groups = {4, 1, 1}, .threads = {256, 1, 1}}));
        }
        if (waits) {
          must(encoder.submit_and_wait());
        } else {
          last = must(encoder.submit());
        }
      }
      if (!waits) must(last.wait());
      EXPECT_EQ(contents<uint32_t>(y), std::vector<uint32_t>(1024, 1000));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The host is far ahead of the GPU: the graph that lists share takes other arguments while it runs.
TEST_F(CudaGpuTest, lists_that_come_again_have_their_own_arguments) {
  const int64_t count = test::as_many_on(device(), 1 << 20, 1 << 12);
  const int64_t lists = test::as_many_on(device(), 200, 20);
  const std::vector<float> ones(static_cast<size_t>(count), 1.0F);
  const Buffer x = buffer_of(device(), DType::f32, ones);
  std::vector<Buffer> results;
  std::vector<Encoder> encoders;
  for (int64_t i = 0; i < lists; ++i) {
    const Buffer t = must(device().empty(DType::f32, {count}));
    results.push_back(must(device().empty(DType::f32, {count})));
    Encoder& encoder = encoders.emplace_back(device().encoder());
    must(ops::scale(encoder, {.x = x, .y = t, .factor = static_cast<float>(i)}));
    for (int k = 0; k < 8; ++k) must(ops::add(encoder, {.a = t, .b = x, .y = t}));
    must(ops::copy(encoder, {.x = t, .y = results.back()}));
    must(encoder.submit());
  }
  for (Encoder& encoder : encoders) must(encoder.wait());
  for (int64_t i = 0; i < lists; ++i) {
    const auto got = contents<float>(results[static_cast<size_t>(i)]);
    ASSERT_EQ(got, std::vector<float>(ones.size(), static_cast<float>(i + 8))) << i;
  }
}

TEST_F(CudaGpuTest, dispatches_are_timed) {
  const Pipeline pipeline = kernel("fill", R"(
    kernel void fill(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = i; }
  )");
  const int64_t count = test::as_many_on(device(), 1 << 26, 1 << 18);
  const Buffer y = must(device().empty(DType::u32, {count}));
  Encoder encoder = device().encoder({.timing = Timing::each});
  const Argument arguments[] = {y};
  for (int i = 0; i < 2; ++i) {
    must(encoder.dispatch(pipeline, arguments, Grid::of_threads({count, 1, 1}, {256, 1, 1})));
  }
  must(encoder.submit_and_wait());
  const auto timings = encoder.timings();
  ASSERT_EQ(timings.size(), 2U);
  for (const auto& timing : timings) {
    EXPECT_GT(timing.duration_us, 10);
    EXPECT_LT(timing.duration_us, 1e5);
  }
  EXPECT_GE(timings[1].start_us, timings[0].duration_us);

  Encoder whole = device().encoder({.timing = Timing::whole});
  must(whole.dispatch(pipeline, arguments, Grid::of_threads({count, 1, 1}, {256, 1, 1})));
  must(whole.submit_and_wait());
  ASSERT_EQ(whole.timings().size(), 1U);
  EXPECT_GT(whole.timings()[0].duration_us, 10);
  EXPECT_LT(whole.timings()[0].duration_us, 1e5);
}

TEST_F(CudaGpuTest, a_refused_kernel_names_the_user_s_line) {
  must(device().registry().register_source(
      "bad", "kernel void bad(device uint* y [[buffer(0)]]) {\n  y[0] = nobody_knows_this;\n}"));
  const auto refused = device().registry().get_pipeline({.name = "bad"});
  expect_error(refused, Code::compile_failed, {"bad"});
  EXPECT_NE(refused.error().log.find("bad.metal(2)"), std::string::npos) << refused.error().log;
}

// The last one: the driver gives this process no working context on that GPU any more.
TEST_F(CudaGpuTest, zz_a_fault_loses_the_device_and_not_the_process) {
  const Pipeline pipeline = kernel("wild", R"(
    kernel void wild(device uint* y [[buffer(0)]]) { y[ulong(1) << 40] = 1; })");
  Buffer y = must(device().empty(DType::u32, {4}));
  Encoder encoder = device().encoder();
  const Argument arguments[] = {y};
  must(encoder.dispatch(pipeline, arguments));
  expect_error(encoder.submit_and_wait(), Code::execution_failed, {"wild", "illegal"});
  uint32_t value = 0;
  expect_error(y.read(std::as_writable_bytes(std::span(&value, 1))), Code::unavailable, {"lost"});
  expect_error(device().empty(DType::u32, {4}), Code::unavailable,
               {"lost, which showed first in wild"});
  must(must(Device::open("cpu")).empty(DType::f32, {4}));
}

}  // namespace
}  // namespace norite
