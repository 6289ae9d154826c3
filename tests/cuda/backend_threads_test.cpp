// SPDX-License-Identifier: MIT
// Threads that share a CUDA device, on a GPU that is none.
#include "cuda/cuda_support.hpp"
#include "unit/together.hpp"

namespace norite {
namespace {

using test::contents;
using test::must;

class CudaThreadsTest : public test::CudaTest {};

TEST_F(CudaThreadsTest, share_a_device) {
  constexpr int kSubmits = 20;
  stand_in().buffer_bytes = {4};
  const Device device = must(open());
  const Pipeline pipeline =
      must(kernel(device, "add", "kernel void add(device int* y [[buffer(0)]]) { y[0] += 1; }"));
  stand_in().on_launch = [](const test::StandInLaunch& launch) {
    ++**static_cast<int**>(launch.parameters[0]);
  };
  test::together([&](int thread) {
    Buffer y = must(device.empty(DType::i32, {1}));
    Event last;
    for (int i = 0; i < kSubmits; ++i) {
      Encoder encoder = device.encoder();
      const Argument arguments[] = {y};
      must(encoder.dispatch(pipeline, arguments));
      if (thread % 2 == 0) {
        must(encoder.submit_and_wait());
      } else {
        last = must(encoder.submit());
      }
      EXPECT_EQ(contents<int>(y)[0], i + 1);
    }
    if (thread % 2 != 0) must(last.wait());
  });
  EXPECT_EQ(stand_in().launches.size(), static_cast<size_t>(test::kThreads * kSubmits));
}

}  // namespace
}  // namespace norite
