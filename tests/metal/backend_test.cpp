// SPDX-License-Identifier: MIT
// Memory, dispatches and failures of the Metal backend, on a Metal that is none.
#include <future>
#include <numeric>

#include "metal/metal_support.hpp"

namespace norite {
namespace {

using test::contents;
using test::expect_error;
using test::must;

constexpr const char* kScale =
    "#include <metal_stdlib>\n"
    "struct Params { float scale; uint count; };\n"
    "kernel void scale(device float* y [[buffer(0)]], device const float* x [[buffer(2)]],\n"
    "                  constant Params& params [[buffer(3)]],\n"
    "                  uint i [[thread_position_in_grid]]) {\n"
    "  if (i < params.count) y[i] = x[i] * params.scale + 1.0;\n"
    "}\n";

struct Params {
  float scale;
  unsigned count;
};

class BackendTest : public test::MetalTest {
 protected:
  static Result<void> scale(Encoder& encoder, const Pipeline& pipeline, const View& x,
                            const View& y, float factor, std::string_view label = {}) {
    const auto count = static_cast<unsigned>(x.count());
    const Argument arguments[] = {y, {}, x, Argument::bytes(Params{factor, count})};
    return encoder.dispatch(pipeline, arguments, Grid::of_threads({x.count(), 1, 1}, {4, 1, 1}),
                            label);
  }
};

TEST_F(BackendTest, is_listed_as_what_it_is) {
  const auto devices = Device::list();
  const auto found = std::ranges::find(devices, "metal", &DeviceInfo::id);
  ASSERT_NE(found, devices.end());
  EXPECT_NE(found->name.find("Stand-in"), std::string::npos);
  EXPECT_TRUE(found->computes);
  EXPECT_EQ(found->limits.max_threads_per_group, 1024);
  EXPECT_EQ(found->limits.max_group_memory_bytes, 32768);
}

TEST_F(BackendTest, memory_is_zero_and_shared_with_the_host) {
  const Device device = must(Device::open("metal"));
  for (const int64_t bytes : {1, 4096, (4 << 20) + 3}) {
    Buffer buffer = must(device.empty(DType::u8, {bytes}));
    ASSERT_NE(buffer.host_data(), nullptr);
    std::vector<uint8_t> values(static_cast<size_t>(bytes));
    EXPECT_EQ(contents<uint8_t>(buffer), values);
    std::iota(values.begin(), values.end(), uint8_t{0});
    must(buffer.write(std::as_bytes(std::span(values))));
    EXPECT_EQ(contents<uint8_t>(buffer), values);
    EXPECT_EQ(static_cast<uint8_t>(buffer.host_data()[0]), values[0]);
  }
}

TEST_F(BackendTest, dispatches_compute_in_order) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  EXPECT_EQ(pipeline.parameters()[3].min_bytes, 8);
  const Buffer x = test::buffer_of<float>(device, DType::f32, {1, 2, 3, 4, 5, 6});
  const Buffer y = must(device.empty(DType::f32, {6}));
  const Buffer z = must(device.empty(DType::f32, {6}));
  Encoder encoder = device.encoder();
  must(scale(encoder, pipeline, x, y, 2));  // ragged: 6 threads in groups of 4
  must(scale(encoder, pipeline, y, z, 10));
  must(encoder.submit_and_wait());
  EXPECT_EQ(contents<float>(z), (std::vector<float>{31, 51, 71, 91, 111, 131}));
  EXPECT_EQ(stand_in().barriers, 1);
  EXPECT_EQ(stand_in().command_buffers, 1);
  EXPECT_FALSE(stand_in().fast_math);
  EXPECT_EQ(stand_in().resident_buffers, 3);
}

TEST_F(BackendTest, halves_of_a_buffer_need_no_barrier) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = test::buffer_of<float>(device, DType::f32, {1, 2, 3, 4});
  const View first = must(View(x).slice(0, 0, 2)), second = must(View(x).slice(0, 2, 4));
  Encoder encoder = device.encoder();
  must(scale(encoder, pipeline, first, first, 2));
  must(scale(encoder, pipeline, second, second, 3));
  must(encoder.submit_and_wait());
  EXPECT_EQ(contents<float>(x), (std::vector<float>{3, 5, 10, 13}));
  EXPECT_EQ(stand_in().barriers, 0);
}

TEST_F(BackendTest, timing_gives_each_dispatch_its_command_buffer) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  Encoder encoder = device.encoder({.timing = Timing::each});
  must(scale(encoder, pipeline, x, x, 1, "one"));
  must(scale(encoder, pipeline, x, x, 1, "two"));
  must(encoder.submit_and_wait());
  EXPECT_EQ(stand_in().command_buffers, 2);
  const auto timings = encoder.timings();
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].name, "one");
  EXPECT_EQ(timings[0].start_us, 0);
  EXPECT_GT(timings[0].duration_us, 0);
  EXPECT_GE(timings[1].start_us, timings[0].duration_us);
}

TEST_F(BackendTest, timing_the_whole_leaves_command_buffers_as_they_are) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  Encoder encoder = device.encoder({.timing = Timing::whole});
  for (int i = 0; i < 100; ++i) must(scale(encoder, pipeline, x, x, 1));
  must(encoder.submit_and_wait());
  EXPECT_EQ(stand_in().command_buffers, 2);
  ASSERT_EQ(encoder.timings().size(), 1U);
  EXPECT_GT(encoder.timings()[0].duration_us, 0);
}

TEST_F(BackendTest, long_lists_take_several_command_buffers) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  Encoder encoder = device.encoder();
  for (int i = 0; i < 130; ++i) must(scale(encoder, pipeline, x, x, 1));
  must(encoder.submit_and_wait());
  EXPECT_EQ(stand_in().command_buffers, 3);
  EXPECT_EQ(contents<float>(x)[0], 130);
}

TEST_F(BackendTest, submits_do_not_wait_for_each_other) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  stand_in().before_run = [gone] { gone.wait(); };
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) {
    Encoder encoder = device.encoder();
    must(scale(encoder, pipeline, x, x, 2));
    events.push_back(must(encoder.submit()));
  }
  EXPECT_EQ(stand_in().command_buffers, 3);
  for (const Event& event : events) EXPECT_FALSE(event.done());
  go.set_value();
  must(events.back().wait());
  EXPECT_TRUE(events.front().done());
  EXPECT_EQ(contents<float>(x)[0], 7);
}

TEST_F(BackendTest, buffers_live_until_the_work_has_ended) {
  Event event;
  {
    const Device device = must(Device::open("metal"));
    const Pipeline pipeline = must(kernel(device, "scale", kScale));
    Encoder encoder = device.encoder();
    const Buffer x = must(device.empty(DType::f32, {4}));
    must(scale(encoder, pipeline, x, x, 1));
    event = must(encoder.submit());
  }
  must(event.wait());
}

TEST_F(BackendTest, constants_of_every_size_arrive) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(
      device, "last",
      "kernel void last(device float* y [[buffer(0)]], constant float* table [[buffer(1)]],\n"
      "                 constant uint& count [[buffer(2)]]) { y[0] = table[count - 1]; }\n"));
  std::array<float, 3000> table = {};
  table.back() = 7;
  const Buffer y = must(device.empty(DType::f32, {1}));
  Encoder encoder = device.encoder();
  const Argument arguments[] = {y, Argument::bytes(table), Argument::bytes(3000U)};
  must(encoder.dispatch(pipeline, arguments));
  must(encoder.submit_and_wait());
  EXPECT_EQ(contents<float>(y)[0], 7);
}

TEST_F(BackendTest, function_constants_of_every_type) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(
      device, "sum",
      "#include <metal_stdlib>\n"
      "constant bool a [[function_constant(0)]]; constant float b [[function_constant(1)]];\n"
      "constant half c [[function_constant(2)]]; constant int d [[function_constant(3)]];\n"
      "constant uint e [[function_constant(4)]]; constant short f [[function_constant(5)]];\n"
      "constant uchar g [[function_constant(6)]]; constant long h [[function_constant(7)]];\n"
      "kernel void sum(device float* y [[buffer(0)]]) {\n"
      "  y[0] = (a ? 1 : 0) + b + float(c) + d + e + f + g + h;\n"
      "}\n",
      {{"a", "true"},
       {"b", "0.25"},
       {"2", "0.5"},
       {"d", "-4"},
       {"e", "16"},
       {"f", "-32"},
       {"g", "64"},
       {"h", "128"}}));
  const Buffer y = must(device.empty(DType::f32, {1}));
  Encoder encoder = device.encoder();
  const Argument arguments[] = {y};
  must(encoder.dispatch(pipeline, arguments));
  must(encoder.submit_and_wait());
  EXPECT_EQ(contents<float>(y)[0], 1 + 0.25F + 0.5F - 4 + 16 - 32 + 64 + 128);

  expect_error(device.registry().get_pipeline({.name = "sum", .constants = {{"g", "256"}}}),
               Code::invalid_argument, {"\"g\"", "256", "uchar"});
}

TEST_F(BackendTest, threadgroup_memory) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline =
      must(kernel(device, "reverse",
                  "#include <metal_stdlib>\n"
                  "kernel void reverse(device float* x [[buffer(0)]], threadgroup float* t "
                  "[[threadgroup(0)]],\n"
                  "                    uint i [[thread_index_in_threadgroup]]) {\n"
                  "  t[i] = x[i];\n"
                  "  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);\n"
                  "  x[i] = t[2 - i];\n"
                  "}\n"));
  const Buffer x = test::buffer_of<float>(device, DType::f32, {1, 2, 3});
  const Argument arguments[] = {x};
  const auto run = [&](int64_t bytes) {
    Encoder encoder = device.encoder();
    must(encoder.dispatch(pipeline, arguments,
                          {.threads = {3, 1, 1}, .threadgroup_memory = {bytes}}));
    return encoder.submit_and_wait();
  };
  must(run(12));
  EXPECT_EQ(contents<float>(x), (std::vector<float>{3, 2, 1}));
}

TEST_F(BackendTest, threadgroup_memory_beside_the_kernels_own) {
  stand_in().static_threadgroup_bytes = 32000;
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline =
      must(kernel(device, "own",
                  "kernel void own(device float* x [[buffer(0)]], threadgroup float* t "
                  "[[threadgroup(0)]]) { x[0] = 1; }\n"));
  const Buffer x = must(device.empty(DType::f32, {1}));
  const Argument arguments[] = {x};
  Encoder encoder = device.encoder();
  must(encoder.dispatch(pipeline, arguments, {.threadgroup_memory = {1024}}));
  expect_error(encoder.submit_and_wait(), Code::invalid_argument, {"own", "1024", "768 of 32768"});
  EXPECT_EQ(contents<float>(x)[0], 0);
}

TEST_F(BackendTest, labels_reach_the_gpu) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  Encoder encoder = device.encoder();
  must(scale(encoder, pipeline, x, x, 1, "first step"));
  must(scale(encoder, pipeline, x, x, 1, "no UTF-8: \xff"));
  must(encoder.submit_and_wait());
  EXPECT_EQ(stand_in().dispatched, (std::vector<std::string>{"first step", "no UTF-8: \xff"}));
}

TEST_F(BackendTest, grids_that_cannot_be_counted) {
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  const Argument arguments[] = {x, {}, x, Argument::bytes(Params{1, 4})};
  Encoder encoder = device.encoder();
  must(encoder.dispatch(pipeline, arguments,
                        {.groups = {1, int64_t{1} << 30, 1}, .threads = {1, 4, 1}}, "tall"));
  expect_error(encoder.submit_and_wait(), Code::invalid_argument, {"tall", "axis 1"});
}

TEST_F(BackendTest, older_systems_have_neither_sets_nor_math_modes) {
  stand_in().system_major = 14;
  const Device device = must(Device::open("metal"));
  const Pipeline pipeline = must(kernel(device, "scale", kScale));
  const Buffer x = must(device.empty(DType::f32, {4}));
  Encoder encoder = device.encoder();
  must(scale(encoder, pipeline, x, x, 1));
  must(encoder.submit_and_wait());
  EXPECT_EQ(contents<float>(x)[0], 1);
  EXPECT_EQ(stand_in().resident_buffers, 0);
  EXPECT_FALSE(stand_in().fast_math);
}

}  // namespace
}  // namespace norite
