// SPDX-License-Identifier: MIT
// Kernel text through the library: registered, compiled, dispatched, refused.
#include <gtest/gtest.h>

#include <array>

#include "ops/dispatch.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::buffer_of;
using test::contents;
using test::expect_error;
using test::expect_refused;
using test::must;

/// Registers a text of one kernel `k` and returns its pipeline.
Result<Pipeline> compiled(const Device& device, std::string text, KernelId form = {.name = "k"}) {
  must(device.registry().register_source("k", std::move(text)));
  return device.registry().get_pipeline(form);
}

Result<void> run(const Device& device, const Pipeline& pipeline, std::vector<Argument> arguments,
                 const Grid& grid) {
  Encoder encoder = device.encoder();
  NORITE_TRY(encoder.dispatch(pipeline, arguments, grid));
  return encoder.submit_and_wait();
}

TEST(TextKernel, RunsFromPlainText) {
  const Device device = test::cpu_device();
  const Pipeline pipeline = must(compiled(device, R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant float& factor [[buffer(2)]], uint i [[thread_position_in_grid]]) {
      y[i] = x[i] * factor;
    })"));
  const Buffer x = buffer_of<float>(device, DType::f32, {1, 2, 3, 4, 5});
  const Buffer y = must(device.empty(DType::f32, {5}));
  must(
      run(device, pipeline, {x, y, Argument::bytes(0.5F)}, Grid::of_threads({5, 1, 1}, {4, 1, 1})));
  EXPECT_EQ(contents<float>(y), (std::vector<float>{0.5, 1, 1.5, 2, 2.5}));
}

TEST(TextKernel, TakesMacrosAndFunctionConstants) {
  const Device device = test::cpu_device();
  const Pipeline pipeline =
      must(compiled(device, R"(
    constant int offset [[function_constant(3)]];
    constant bool negative [[function_constant(4)]];
    constant int sign = is_function_constant_defined(negative) && negative ? -1 : 1;
    kernel void k(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      y[i] = sign * (offset + STEP * int(i));
    })",
                    {"k", {{"STEP", "10"}}, {{"offset", "7"}, {"4", "true"}}}));
  const Buffer y = must(device.empty(DType::i32, {3}));
  must(run(device, pipeline, {y}, {.threads = {3, 1, 1}}));
  EXPECT_EQ(contents<int32_t>(y), (std::vector<int32_t>{-7, -17, -27}));
}

TEST(TextKernel, KnowsEveryPlaceInEveryWidth) {
  const Device device = test::cpu_device();
  // A ragged grid of 5 x 3 x 2 threads in groups of 4 x 2 x 2.
  const Pipeline pipeline = must(compiled(device, R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void k(device uint* out [[buffer(0)]],
                  uint3 grid3 [[thread_position_in_grid]], ushort2 local2 [[thread_position_in_threadgroup]],
                  ushort index [[thread_index_in_threadgroup]], uint2 group2 [[threadgroup_position_in_grid]],
                  ushort3 size3 [[threads_per_threadgroup]], uint full [[dispatch_threads_per_threadgroup]],
                  uint3 groups3 [[threadgroups_per_grid]], ushort3 total3 [[threads_per_grid]],
                  ushort lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                  ushort simds [[simdgroups_per_threadgroup]], uint width [[threads_per_simdgroup]],
                  ushort quad_lane [[thread_index_in_quadgroup]], uint quad [[quadgroup_index_in_threadgroup]]) {
      device uint* o = out + 16 * (grid3.x + 5 * (grid3.y + 3 * grid3.z));
      o[0] = local2.x; o[1] = local2.y; o[2] = index; o[3] = group2.x; o[4] = group2.y;
      o[5] = size3.x; o[6] = size3.y; o[7] = size3.z; o[8] = full; o[9] = groups3.x * 100 + groups3.y * 10 + groups3.z;
      o[10] = total3.x * 100 + total3.y * 10 + total3.z; o[11] = lane; o[12] = simd; o[13] = simds * 100 + width;
      o[14] = quad_lane; o[15] = quad;
    })"));
  const Buffer out = must(device.empty(DType::u32, {30, 16}));
  must(run(device, pipeline, {out}, Grid::of_threads({5, 3, 2}, {4, 2, 2})));
  const auto seen = contents<uint32_t>(out);
  for (uint32_t z = 0; z < 2; ++z) {
    for (uint32_t y = 0; y < 3; ++y) {
      for (uint32_t x = 0; x < 5; ++x) {
        const uint32_t sx = x < 4 ? 4 : 1;
        const uint32_t sy = y < 2 ? 2 : 1;
        const uint32_t index = x % 4 + sx * (y % 2 + sy * z);
        const std::array<uint32_t, 16> expected = {x % 4, y % 2, index,     x / 4,    y / 2, sx,
                                                   sy,    2,     4,         221,      532,   index,
                                                   0,     132,   index % 4, index / 4};
        for (size_t i = 0; i < 16; ++i) {
          EXPECT_EQ(seen[16 * (x + 5 * (y + 3 * z)) + i], expected[i])
              << "field " << i << " of thread " << x << ", " << y << ", " << z;
        }
      }
    }
  }
}

class TextKernelErrors : public testing::Test {
 protected:
  Device device_ = test::cpu_device();
  Buffer small_ = must(device_.empty(DType::f32, {1}));
  Buffer y_ = must(device_.empty(DType::f32, {64}));
  Pipeline pipeline_ = must(compiled(device_, R"(
    #include <metal_stdlib>
    using namespace metal;
    struct Params { float4 a; float b; };
    [[max_total_threads_per_threadgroup(64)]]
    kernel void k(device float* y [[buffer(0)]], constant Params& p [[buffer(2)]],
                  threadgroup float* shared [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {
      shared[i] = p.b; y[i] = shared[i];
    })"));
  Argument params_ = Argument::bytes(std::array<float, 8>{});
  Grid grid_{.threads = {64, 1, 1}, .threadgroup_memory = {256}};

  Result<void> dispatch(std::vector<Argument> arguments, const Grid& grid) {
    return device_.encoder().dispatch(pipeline_, arguments, grid);
  }
};

TEST_F(TextKernelErrors, ArgumentsAreChecked) {
  must(dispatch({y_, {}, params_}, grid_));
  expect_refused(dispatch({y_}, grid_), {"k", "\"p\"", "not bound"});
  expect_refused(dispatch({y_, y_, params_}, grid_), {"position 1"});
  expect_refused(dispatch({y_, {}, params_, y_}, grid_), {"4 arguments"});
  expect_refused(dispatch({params_, {}, params_}, grid_), {"\"y\"", "a view"});
  expect_refused(dispatch({y_, {}, small_}, grid_), {"\"p\"", "4 bytes", "32"});
}

TEST_F(TextKernelErrors, GridsAreChecked) {
  const auto with = [&](auto change) {
    Grid grid = grid_;
    change(grid);
    return dispatch({y_, {}, params_}, grid);
  };
  expect_refused(with([](Grid& g) { g.threads = {65, 1, 1}; }), {"65", "64"});
  expect_refused(with([](Grid& g) { g.threads = {int64_t{1} << 62, 4, 1}; }), {"at most 64"});
  expect_refused(with([](Grid& g) { g.groups = {0, 1, 1}; }), {"0 groups"});
  expect_refused(with([](Grid& g) { g.total = {65, 1, 1}; }), {"65"});
  expect_refused(with([](Grid& g) { g.threadgroup_memory = {}; }), {"shared", "0 bytes"});
  expect_refused(with([](Grid& g) { g.threadgroup_memory = {16, 16}; }), {"2 sizes"});
  expect_refused(with([](Grid& g) { g.threadgroup_memory = {32 * 1024 + 1}; }), {"32768"});
}

TEST(TextKernelCompile, FailuresAreToldApart) {
  const Device device = test::cpu_device();
  KernelRegistry& registry = device.registry();
  must(registry.register_source("absent", "kernel void other(device int* x [[buffer(0)]]) {}"));
  expect_error(registry.get_pipeline({.name = "absent"}), Code::not_found, {"absent", "other"});

  must(registry.register_source(
      "wrong",
      KernelText("\nkernel void wrong(device int* x [[buffer(0)]]) {\n  x[0] = missing;\n}",
                 "mine.metal")));
  const auto wrong = registry.get_pipeline({.name = "wrong"});
  expect_error(wrong, Code::compile_failed, {"wrong"});
  EXPECT_NE(wrong.error().log.find("mine.metal:3:"), std::string::npos) << wrong.error().log;
  EXPECT_NE(wrong.error().log.find("missing"), std::string::npos) << wrong.error().log;

  must(registry.register_source("fine", "kernel void fine(device int* x [[buffer(0)]]) {}"));
  expect_error(registry.get_pipeline({.name = "fine", .constants = {{"nobody", "1"}}}),
               Code::invalid_argument, {"nobody"});
  must(registry.get_pipeline({.name = "fine"}));

  must(registry.register_source("lacking", R"(
    constant int n [[function_constant(0)]];
    kernel void lacking(device int* x [[buffer(0)]]) { x[0] = n; })"));
  expect_error(registry.get_pipeline({.name = "lacking"}), Code::compile_failed, {"lacking"});
}

TEST(TextKernel, EndlessLoopsAreCancelledAndTheDeviceGoesOn) {
  const Device device = must(Device::open("cpu", {.threads = 2, .kernel_time_limit_seconds = 0.2}));
  const Pipeline pipeline = must(compiled(device, R"(
    kernel void k(device int* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      if (x[0] == 0) { for (int n = 0; n >= 0; n += 0) x[i + 1] = n; }
      x[i + 1] = 7;
    })"));
  const Buffer x = must(device.empty(DType::i32, {65}));
  const Grid grid{.threads = {64, 1, 1}};
  expect_error(run(device, pipeline, {x}, grid), Code::timeout, {"\"k\"", "200 ms"});
  const std::vector<int32_t> one = {1};
  Buffer flag = x;
  must(View(x).slice(0, 0, 1)->write(std::as_bytes(std::span(one))));
  must(run(device, pipeline, {x}, grid));
  EXPECT_EQ(contents<int32_t>(flag)[64], 7);
}

TEST(TextKernel, GuardedBuffersEndWhereMemoryDoes) {
  const Device device = must(Device::open("cpu", {.threads = 2, .guard_buffers = true}));
  const Pipeline pipeline = must(compiled(device, R"(
    kernel void k(device long4* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      x[i] += 1;
    })"));
  for (const int64_t vectors : {1, 3, 128, 1000, 1 << 16}) {
    const Buffer x = must(device.empty(DType::i32, {vectors * 8}));
    must(run(device, pipeline, {x}, {.groups = {vectors, 1, 1}}));
    EXPECT_EQ(contents<int32_t>(x)[static_cast<size_t>(vectors) * 8 - 2], 1);
    expect_error(run(device, pipeline, {x}, {.groups = {vectors + 1, 1, 1}}),
                 Code::execution_failed, {"0 bytes past the end of buffer 0 \"x\""});
  }
}

TEST(TextKernel, OperationsRefuseRowsThatKernelsCannotCount) {
  const Device device = must(Device::open("cpu", {.builtins = BuiltinForm::text}));
  Encoder encoder = device.encoder();
  const ops::Plan plan{.key = {"rms_norm", {}}, .grid = {}, .columns = (int64_t{1} << 31) + 1};
  expect_error(ops::dispatch_text(encoder, "rms_norm", plan, {}), Code::unsupported,
               {"rms_norm", "2147483649", "2147483648"});
}

TEST(TextKernel, MayHaveTheNameOfABuiltIn) {
  const Device device = test::cpu_device();
  KernelText text("kernel void rms_norm(device int* x [[buffer(0)]]) { x[0] = 3; }");
  text.entry = "rms_norm";
  must(device.registry().register_source("mine", std::move(text)));
  const Buffer x = must(device.empty(DType::i32, {1}));
  must(run(device, must(device.registry().get_pipeline({.name = "mine"})), {x}, {}));
  EXPECT_EQ(contents<int32_t>(x)[0], 3);
}

}  // namespace
}  // namespace norite
