// SPDX-License-Identifier: MIT
#include <algorithm>
#include <random>

#include "support.hpp"
#include "unit/together.hpp"

namespace norite {
namespace {

using test::kThreads;
using test::must;
using test::together;

// Every thread marks its buffers and finds its mark again: nobody else was given the memory.
TEST(PoolThreads, no_two_threads_are_given_the_same_memory) {
  const Device device = test::cpu_device();
  Pool pool(device);
  together([&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    const auto mark = static_cast<std::byte>(thread + 1);
    for (int i = 0; i < 200; ++i) {
      std::vector<Buffer> held;
      for (int n = 0; n < 4; ++n) {
        const auto fill = random() % 2 == 0 ? Fill::zero : Fill::uninitialised;
        held.push_back(
            must(pool.acquire(DType::u8, {1 + static_cast<int64_t>(random() % 3000)}, fill)));
        std::byte* data = held.back().host_data();
        std::byte* end = data + held.back().size_bytes();
        if (fill == Fill::zero) {
          EXPECT_EQ(std::count(data, end, std::byte{0}), end - data);
        }
        std::fill(data, end, mark);
      }
      if (i % 50 == 0) pool.trim();
      for (const Buffer& buffer : held) {
        const std::byte* data = buffer.host_data();
        EXPECT_EQ(std::count(data, data + buffer.size_bytes(), mark), buffer.size_bytes());
      }
    }
  });
  const PoolStatistics end = pool.statistics();
  EXPECT_EQ(end.bytes_in_use, 0);
  EXPECT_EQ(end.hits + end.misses, kThreads * 200 * 4);
  EXPECT_GT(end.hits, end.misses);
  EXPECT_EQ(pool.trim(), end.bytes_cached);
}

TEST(PoolThreads, a_buffer_may_be_dropped_by_another_thread) {
  const Device device = test::null_device();
  Pool pool(device);
  std::vector<Buffer> buffers;
  for (int i = 0; i < kThreads; ++i) buffers.push_back(must(pool.acquire(DType::u8, {1000})));
  together([&](int thread) { buffers[static_cast<size_t>(thread)] = {}; });
  EXPECT_EQ(pool.statistics().bytes_in_use, 0);
  EXPECT_EQ(pool.statistics().bytes_cached, kThreads * Pool::size_class(1000));
}

TEST(DeviceThreads, many_threads_open_use_and_close_devices) {
  together([&](int thread) {
    for (int i = 0; i < 10; ++i) {
      const Device device = test::cpu_device(1 + thread % 3);
      const Buffer buffer = must(device.empty(DType::f32, {64}));
      EXPECT_EQ(test::contents<float>(buffer), std::vector<float>(64, 0.0F));
      if (i % 2 == 0) device.close();
    }
  });
}

}  // namespace
}  // namespace norite
