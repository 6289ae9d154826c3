// SPDX-License-Identifier: MIT
// How graphs use CUDA's own, on a GPU that is none.
#include "norite/graph.hpp"
#include "cuda/cuda_support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;

class CudaGraphTest : public test::CudaTest {
 protected:
  CudaGraphTest() { stand_in().buffer_bytes = {4, 4}; }

  Graph capture(const Device& device, int copies) {
    const Pipeline pipeline = must(kernel(device, "copy_floats", test::kCopyFloats));
    x = must(device.empty(DType::f32, {4}));
    y = must(device.empty(DType::f32, {4}));
    return must(Graph::capture(device, [&](Encoder& e) -> Result<void> {
      for (int i = 0; i < copies; ++i) {
        const Argument arguments[] = {y, x};
        NORITE_TRY(e.dispatch(pipeline, arguments, {.threads = {4, 1, 1}}));
      }
      return {};
    }));
  }

  Buffer x, y;
};

TEST_F(CudaGraphTest, lists_are_captured_once_and_launched_whole) {
  const Device device = must(open());
  Graph graph = capture(device, 3);
  for (int i = 0; i < 5; ++i) must(graph.replay());
  EXPECT_EQ(stand_in().nodes.size(), 3u);
  EXPECT_EQ(stand_in().launches.size(), 3u);
  EXPECT_EQ(stand_in().instantiated, 1);
  EXPECT_EQ(stand_in().graph_launches, 5);
}

TEST_F(CudaGraphTest, rebinding_updates_the_instance) {
  const Device device = must(open());
  Graph graph = capture(device, 2);
  must(graph.replay());
  must(graph.rebind(x, must(device.empty(DType::f32, {4}))));
  must(graph.replay());
  EXPECT_EQ(stand_in().instantiated, 1);
  EXPECT_EQ(stand_in().updated, 1);
  EXPECT_EQ(stand_in().graph_launches, 2);
}

TEST_F(CudaGraphTest, what_cannot_be_updated_is_made_anew) {
  const Device device = must(open());
  Graph graph = capture(device, 2);
  must(graph.replay());
  stand_in().updates_graphs = false;
  must(graph.rebind(x, must(device.empty(DType::f32, {4}))));
  must(graph.replay());
  EXPECT_EQ(stand_in().instantiated, 2);
  EXPECT_EQ(stand_in().graph_launches, 2);
}

TEST_F(CudaGraphTest, what_cannot_be_captured_is_launched_one_by_one) {
  for (const char* failing :
       {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    const Device device = must(open());
    Graph graph = capture(device, 2);
    stand_in().failing = failing;
    stand_in().error = cuda::CUDA_ERROR_INVALID_VALUE;
    // The second time the list has come before, and is refused as a graph once more.
    for (int i = 0; i < 2; ++i) must(graph.replay());
    const size_t launches = stand_in().launches.size();
    must(graph.replay());
    EXPECT_EQ(stand_in().launches.size(), launches + 2) << failing;
    EXPECT_EQ(stand_in().graph_launches, 0) << failing;
    reset();
    stand_in().buffer_bytes = {4, 4};
  }
}

TEST_F(CudaGraphTest, faults_are_told_with_the_names_of_the_work) {
  const Device device = must(open());
  Graph graph = capture(device, 1);
  stand_in().fault_after_launch = cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
  expect_error(graph.replay(), Code::execution_failed, {"copy_floats", "illegal memory access"});
  expect_error(graph.replay(), Code::unavailable, {"lost", "copy_floats"});
}

TEST_F(CudaGraphTest, launches_that_fail_are_told) {
  const Device device = must(open());
  Graph graph = capture(device, 1);
  must(graph.replay());
  stand_in().failing = "cuGraphLaunch";
  stand_in().error = cuda::CUDA_ERROR_OUT_OF_MEMORY;
  expect_error(graph.replay(), Code::out_of_memory, {"launch of a graph", "copy_floats"});
}

TEST_F(CudaGraphTest, nothing_is_left_behind) {
  {
    const Device device = must(open());
    Graph graph = capture(device, 2);
    must(graph.replay());
    must(graph.rebind(x, must(device.empty(DType::f32, {4}))));
    must(graph.replay());
  }
  x = y = {};
  EXPECT_EQ(stand_in().live_graphs, 0);
  EXPECT_EQ(stand_in().live_allocations, 0);
}

}  // namespace
}  // namespace norite
