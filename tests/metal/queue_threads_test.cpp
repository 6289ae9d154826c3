// SPDX-License-Identifier: MIT
// Threads that share a Metal device, on a Metal that is none.
#include <optional>
#include <utility>

#include "metal/metal_support.hpp"
#include "unit/together.hpp"

namespace norite {
namespace {

using test::contents;
using test::must;

class QueueThreadsTest : public test::MetalTest {};

TEST_F(QueueThreadsTest, share_a_device) {
  constexpr int kSubmits = 10;
  const Device device = must(Device::open("metal"));
  must(device.registry().register_source(
      "add", "kernel void add(device int* y [[buffer(0)]]) { y[0] += 1; }"));
  test::together([&](int thread) {
    const Pipeline pipeline = must(device.registry().get_pipeline({.name = "add"}));
    Buffer y = must(device.empty(DType::i32, {1}));
    Event last;
    for (int i = 0; i < kSubmits; ++i) {
      Encoder encoder = device.encoder({.timing = static_cast<Timing>(thread % 3)});
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
  EXPECT_EQ(stand_in().dispatched.size(), static_cast<size_t>(test::kThreads * kSubmits));
}

// The last to hold a device may be the thread that waits for its work.
TEST_F(QueueThreadsTest, devices_end_with_their_work) {
  struct Work {
    Device device;
    Pipeline pipeline;
  };
  std::vector<std::optional<Work>> works;
  for (int i = 0; i < test::kThreads; ++i) {
    const Device device = must(Device::open("metal"));
    works.emplace_back(
        Work{device, must(kernel(device, "add",
                                 "kernel void add(device int* y [[buffer(0)]]) { y[0] += 1; }"))});
  }
  test::together([&](int thread) {
    Event event;
    {
      const auto work = std::exchange(works[static_cast<size_t>(thread)], std::nullopt);
      Encoder encoder = work->device.encoder();
      const Argument arguments[] = {must(work->device.empty(DType::i32, {1}))};
      must(encoder.dispatch(work->pipeline, arguments));
      event = must(encoder.submit());
    }
    must(event.wait());
  });
}

}  // namespace
}  // namespace norite
