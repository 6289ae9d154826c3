// SPDX-License-Identifier: MIT
// Lists that come again become graphs of CUDA's, on a GPU that is none.
#include <algorithm>

#include "cuda/cuda_support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;

class CudaRepeatedListsTest : public test::CudaTest {
 protected:
  CudaRepeatedListsTest() { stand_in().buffer_bytes = {4, 4}; }

  /// Copies between new buffers, in groups of so many threads.
  Result<void> run(const Device& device, const Pipeline& pipeline, int copies,
                   int64_t threads = 4) {
    Encoder encoder = device.encoder();
    for (int i = 0; i < copies; ++i) {
      NORITE_TRY_ASSIGN(const Buffer x, device.empty(DType::f32, {threads}));
      NORITE_TRY_ASSIGN(const Buffer y, device.empty(DType::f32, {threads}));
      const Argument arguments[] = {y, x};
      NORITE_TRY(encoder.dispatch(pipeline, arguments, {.threads = {threads, 1, 1}}));
    }
    return encoder.submit_and_wait();
  }
};

TEST_F(CudaRepeatedListsTest, the_second_time_they_are_launched_as_graphs) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  must(run(device, pipeline, 3));
  EXPECT_EQ(stand_in().graph_launches, 0);
  for (int i = 0; i < 4; ++i) must(run(device, pipeline, 3));
  EXPECT_EQ(stand_in().graph_launches, 4);
  EXPECT_EQ(stand_in().instantiated, 1);
  EXPECT_EQ(stand_in().updated, 3);
  EXPECT_EQ(stand_in().nodes.size(), 3u);
}

TEST_F(CudaRepeatedListsTest, other_lists_are_not) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  for (const int copies : {1, 2, 3}) must(run(device, pipeline, copies));
  must(run(device, pipeline, 3, 8));
  EXPECT_EQ(stand_in().graph_launches, 0);
  EXPECT_EQ(stand_in().launches.size(), 9u);
}

TEST_F(CudaRepeatedListsTest, kernels_that_keep_the_gpu_busy_are_launched_at_once) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  const Buffer x = must(device.empty(DType::f32, {3 << 20})),
               y = must(device.empty(DType::f32, {3 << 20}));
  for (int i = 0; i < 3; ++i) {
    Encoder encoder = device.encoder();
    const Argument arguments[] = {y, x};
    must(encoder.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}));
    must(encoder.submit_and_wait());
  }
  EXPECT_EQ(stand_in().graph_launches, 0);
}

TEST_F(CudaRepeatedListsTest, callers_streams_and_timed_dispatches_stay_as_they_are) {
  const Device device = must(open(0, {.cuda_stream = nullptr}));
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  for (int i = 0; i < 3; ++i) must(run(device, pipeline, 2));
  EXPECT_EQ(stand_in().graph_launches, 0);

  const Device timed = must(open());
  const Pipeline copy = must(kernel(timed, "copy_floats", test::kCopyFloats));
  for (const Timing timing : {Timing::each, Timing::whole}) {
    for (int i = 0; i < 3; ++i) {
      Encoder encoder = timed.encoder({.timing = timing});
      const Buffer x = must(timed.empty(DType::f32, {4})), y = must(timed.empty(DType::f32, {4}));
      const Argument arguments[] = {y, x};
      for (int k = 0; k < 2; ++k) must(encoder.dispatch(copy, arguments, {.threads = {4, 1, 1}}));
      must(encoder.submit_and_wait());
      EXPECT_EQ(encoder.timings().size(), timing == Timing::each ? 2u : 1u);
    }
    Encoder empty = timed.encoder({.timing = timing});
    must(empty.submit_and_wait());
    EXPECT_TRUE(empty.timings().empty());
  }
  EXPECT_EQ(stand_in().graph_launches, 0);
}

TEST_F(CudaRepeatedListsTest, launches_that_are_waited_for_stay_single) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const Device device = must(open());
  unsetenv("CUDA_LAUNCH_BLOCKING");
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  for (int i = 0; i < 3; ++i) must(run(device, pipeline, 2));
  EXPECT_EQ(stand_in().graph_launches, 0);
}

TEST_F(CudaRepeatedListsTest, constants_that_are_copied_stay_out) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "scale",
                                        "kernel void scale(device float* y [[buffer(0)]],\n"
                                        "                  constant float* table [[buffer(1)]],\n"
                                        "                  uint i [[thread_position_in_grid]]) {\n"
                                        "  y[i] *= table[0];\n"
                                        "}\n"));
  for (int i = 0; i < 3; ++i) {
    Encoder encoder = device.encoder();
    const Buffer y = must(device.empty(DType::f32, {4}));
    const Argument arguments[] = {y, Argument::bytes(2.0F)};
    must(encoder.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}));
    must(encoder.submit_and_wait());
  }
  EXPECT_EQ(stand_in().graph_launches, 0);
}

TEST_F(CudaRepeatedListsTest, what_the_driver_refuses_is_launched_one_by_one) {
  for (const char* failing : {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                              "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    const Device device = must(open());
    const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
    stand_in().failing = failing;
    stand_in().error = cuda::CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 2; ++i) must(run(device, pipeline, 2));
    // On the device's stream; others are part of a capture.
    const auto single = [&] {
      return std::ranges::count(stand_in().launches, stand_in().launches[0].stream,
                                &test::StandInLaunch::stream);
    };
    const auto before = single();
    must(run(device, pipeline, 2));
    EXPECT_EQ(single(), before + 2) << failing;
    EXPECT_EQ(stand_in().graph_launches, 0) << failing;
    reset();
    stand_in().buffer_bytes = {4, 4};
  }
}

TEST_F(CudaRepeatedListsTest, what_cannot_be_updated_is_made_anew) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  stand_in().updates_graphs = false;
  for (int i = 0; i < 3; ++i) must(run(device, pipeline, 2));
  EXPECT_EQ(stand_in().instantiated, 2);
  EXPECT_EQ(stand_in().graph_launches, 2);
}

TEST_F(CudaRepeatedListsTest, failures_are_told_with_the_names_of_the_work) {
  const Device device = must(open());
  const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
  must(run(device, pipeline, 1));
  stand_in().fault_after_launch = cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
  expect_error(run(device, pipeline, 1), Code::execution_failed,
               {"copy_floats", "illegal memory access"});
}

TEST_F(CudaRepeatedListsTest, few_are_kept) {
  {
    const Device device = must(open());
    const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
    for (int64_t threads = 1; threads <= 100; ++threads) {
      for (int i = 0; i < 2; ++i) must(run(device, pipeline, 1, threads));
    }
    EXPECT_EQ(stand_in().instantiated, 100);
    EXPECT_LE(stand_in().live_graphs, 32);
    EXPECT_GE(stand_in().live_graphs, 16);
  }
  EXPECT_EQ(stand_in().live_graphs, 0);
}

}  // namespace
}  // namespace norite
