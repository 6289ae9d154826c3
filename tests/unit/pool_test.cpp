// SPDX-License-Identifier: MIT
#include "norite/pool.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "support.hpp"
#include "unit/fake_backend.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::expect_refused;
using test::must;

TEST(PoolSizeClass, wastes_less_than_a_quarter_beyond_the_smallest) {
  const auto expect_fits = [](int64_t bytes) {
    const int64_t given = Pool::size_class(bytes);
    ASSERT_GE(given, bytes);
    ASSERT_LT(static_cast<double>(given - bytes), 0.25 * static_cast<double>(given)) << bytes;
  };
  for (int64_t bytes = 257; bytes < 100'000; ++bytes) expect_fits(bytes);
  for (int power = 9; power < 63; ++power) {
    const int64_t round = int64_t{1} << power;
    for (const int64_t off : {-2, -1, 0, 1, 2}) expect_fits(round + off);
    for (const int64_t off : {-1, 0, 1}) expect_fits(round + round / 4 + off);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    expect_fits(257 + static_cast<int64_t>(random() >> (1 + random() % 54)));
  }
  expect_fits(INT64_MAX);
}

TEST(PoolSizeClass, small_requests_share_the_smallest_class) {
  for (int64_t bytes = 0; bytes <= 256; ++bytes) EXPECT_EQ(Pool::size_class(bytes), 256);
}

TEST(PoolSizeClass, grows_with_the_request_in_four_steps_for_each_power_of_two) {
  int classes = 0;
  int64_t previous = 256;
  for (int64_t bytes = 257; bytes <= 1 << 16; ++bytes) {
    const int64_t given = Pool::size_class(bytes);
    ASSERT_GE(given, previous);
    classes += given == previous ? 0 : 1;
    previous = given;
  }
  EXPECT_EQ(classes, 4 * 8);
}

TEST(PoolSizeClass, a_class_is_its_own_class) {
  for (int64_t bytes = 1; bytes < 1 << 20; bytes += 97) {
    EXPECT_EQ(Pool::size_class(Pool::size_class(bytes)), Pool::size_class(bytes));
  }
}

class PoolTest : public ::testing::TestWithParam<const char*> {
 protected:
  Buffer acquire(int64_t bytes, Fill fill = Fill::zero) {
    return must(pool_.acquire(DType::u8, {bytes}, fill));
  }
  static void fill_with(Buffer& buffer, int value) {
    std::memset(buffer.host_data(), value, static_cast<size_t>(buffer.capacity_bytes()));
  }
  static bool all_are(const Buffer& buffer, int value) {
    const std::byte* data = buffer.host_data();
    return std::all_of(data, data + buffer.size_bytes(),
                       [&](std::byte one) { return one == static_cast<std::byte>(value); });
  }

  Device device_ = must(Device::open(GetParam()));
  Pool pool_{device_};
};

INSTANTIATE_TEST_SUITE_P(devices, PoolTest, ::testing::Values("null", "cpu"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(PoolTest, a_dropped_buffer_serves_the_next_request_of_its_class) {
  const std::byte* place = nullptr;
  {
    const Buffer first = acquire(1000);
    place = first.host_data();
    EXPECT_EQ(first.size_bytes(), 1000);
    EXPECT_EQ(first.capacity_bytes(), Pool::size_class(1000));
  }
  const Buffer second = acquire(900);
  EXPECT_EQ(second.host_data(), place);
  EXPECT_EQ(second.size_bytes(), 900);
  EXPECT_EQ(pool_.statistics().hits, 1);
  EXPECT_EQ(pool_.statistics().misses, 1);
}

TEST_P(PoolTest, another_class_is_another_allocation) {
  {
    const Buffer small = acquire(300);
  }
  const Buffer large = acquire(3000);
  EXPECT_EQ(pool_.statistics().hits, 0);
  EXPECT_EQ(pool_.statistics().misses, 2);
}

TEST_P(PoolTest, a_buffer_goes_back_with_its_last_copy_or_view) {
  std::optional<Buffer> buffer = acquire(1000);
  std::optional<Buffer> copy = buffer;
  std::optional<View> view = must(View(*buffer).slice(0, 10, 20));
  const std::byte* place = buffer->host_data();
  buffer.reset();
  copy.reset();
  EXPECT_EQ(pool_.statistics().bytes_in_use, 1024);
  EXPECT_NE(acquire(1000).host_data(), place);
  view.reset();
  EXPECT_EQ(pool_.statistics().bytes_in_use, 0);
}

TEST_P(PoolTest, zero_fill_clears_what_was_there) {
  {
    Buffer buffer = acquire(5000);
    EXPECT_TRUE(all_are(buffer, 0)) << "new";
    fill_with(buffer, 0xAB);
  }
  const Buffer again = acquire(5000);
  ASSERT_EQ(pool_.statistics().hits, 1);
  EXPECT_TRUE(all_are(again, 0)) << "reused";
}

TEST_P(PoolTest, uninitialised_leaves_what_was_there) {
  {
    Buffer buffer = acquire(5000, Fill::uninitialised);
    fill_with(buffer, 0xAB);
  }
  const Buffer again = acquire(5000, Fill::uninitialised);
  ASSERT_EQ(pool_.statistics().hits, 1);
  EXPECT_TRUE(all_are(again, 0xAB));
}

TEST_P(PoolTest, statistics_follow_what_is_out_and_what_is_kept) {
  std::optional<Buffer> a = acquire(1024);
  std::optional<Buffer> b = acquire(2048);
  PoolStatistics now = pool_.statistics();
  EXPECT_EQ(now.bytes_in_use, 3072);
  EXPECT_EQ(now.bytes_cached, 0);
  EXPECT_EQ(now.peak_bytes_in_use, 3072);
  a.reset();
  now = pool_.statistics();
  EXPECT_EQ(now.bytes_in_use, 2048);
  EXPECT_EQ(now.bytes_cached, 1024);
  EXPECT_EQ(now.peak_bytes_in_use, 3072);
  a = acquire(1024);
  now = pool_.statistics();
  EXPECT_EQ(now.bytes_in_use, 3072);
  EXPECT_EQ(now.bytes_cached, 0);
  EXPECT_EQ(now.peak_bytes_in_use, 3072);
}

TEST_P(PoolTest, trim_gives_the_kept_memory_back_and_no_other) {
  std::optional<Buffer> out = acquire(1024);
  fill_with(*out, 0x11);
  {
    const Buffer dropped = acquire(4096);
  }
  EXPECT_EQ(pool_.trim(), 4096);
  EXPECT_EQ(pool_.statistics().bytes_cached, 0);
  EXPECT_EQ(pool_.statistics().bytes_in_use, 1024);
  EXPECT_TRUE(all_are(*out, 0x11));
  EXPECT_EQ(pool_.trim(), 0);
  const Buffer fresh = acquire(4096);
  EXPECT_EQ(pool_.statistics().hits, 0);
  out.reset();
  EXPECT_EQ(pool_.trim(), 1024) << "what comes back after a trim is kept again";
}

TEST_P(PoolTest, it_outlives_the_handle_of_its_device) {
  std::optional<Device> device = must(Device::open(GetParam()));
  Pool pool(*device);
  device.reset();
  Buffer buffer = must(pool.acquire(DType::f32, {100}));
  const std::vector<float> values(100, 2.5F);
  must(buffer.write(std::as_bytes(std::span(values))));
  EXPECT_EQ(test::contents<float>(buffer), values);
}

TEST_P(PoolTest, its_buffers_outlive_it) {
  std::optional<Pool> pool(std::in_place, device_);
  Buffer buffer = must(pool->acquire(DType::f32, {100}));
  pool.reset();
  const std::vector<float> values(100, 2.5F);
  must(buffer.write(std::as_bytes(std::span(values))));
  EXPECT_EQ(test::contents<float>(buffer), values);
}

TEST_P(PoolTest, closing_the_device_trims_its_own_pool) {
  {
    must(device_.pool().acquire(DType::u8, {4096}));
  }
  EXPECT_EQ(device_.pool().statistics().bytes_cached, 4096);
  device_.close();
  EXPECT_EQ(device_.pool().statistics().bytes_cached, 0);
}

TEST_P(PoolTest, a_closed_device_gives_no_memory_and_every_pool_of_it_lets_go_of_what_comes_back) {
  for (Pool* pool : {&pool_, &device_.pool()}) must(pool->acquire(DType::u8, {4096}));
  std::optional<Buffer> own = acquire(1024);
  fill_with(*own, 0x11);
  device_.close();
  for (Pool* pool : {&pool_, &device_.pool()}) {
    for (const int64_t bytes : {4096, 1024}) {
      expect_error(pool->acquire(DType::u8, {bytes}), Code::failed_precondition,
                   {"buffer", GetParam(), "closed"});
    }
  }
  EXPECT_EQ(test::contents<uint8_t>(*own), std::vector<uint8_t>(1024, 0x11));
  EXPECT_EQ(pool_.statistics().bytes_in_use, 1024);
  EXPECT_EQ(pool_.trim(), 4096) << "what it kept is its own to trim";
  own.reset();
  EXPECT_EQ(pool_.statistics().bytes_in_use, 0);
  EXPECT_EQ(pool_.statistics().bytes_cached, 0);
}

TEST_P(PoolTest, refuses_what_is_no_buffer) {
  expect_refused(pool_.acquire(DType::f32, {0}), {"buffer", "[0]"});
  expect_refused(pool_.acquire(DType::f32, {4, -1}), {"[4, -1]"});
  expect_refused(pool_.acquire(DType::f32, {INT64_MAX}), {"f32"});
  expect_error(pool_.acquire(DType::u8, {INT64_MAX}), Code::out_of_memory, {GetParam()});
  EXPECT_EQ(pool_.statistics().bytes_in_use, 0);
  EXPECT_EQ(pool_.statistics().misses, 0);
}

// A device of 1000 bytes.
class SmallDevice final : public test::FakeBackend {
 public:
  Result<std::shared_ptr<core::Storage>> allocate(int64_t bytes) override {
    if (bytes > left_) return fail(Code::out_of_memory, "all gone");
    left_ -= bytes;
    return std::make_shared<Memory>(*this, bytes);
  }

 private:
  struct Memory final : core::Storage {
    Memory(SmallDevice& owner, int64_t bytes)
        : Storage(owner.shared_from_this(), bytes, nullptr), device(owner) {}
    ~Memory() override { device.left_ += size_bytes(); }
    SmallDevice& device;
  };

  int64_t left_ = 1000;
};

class SmallDevicePoolTest : public ::testing::Test {
 protected:
  Pool pool_{std::make_shared<SmallDevice>()};
};

TEST_F(SmallDevicePoolTest, a_class_is_cut_to_what_the_device_allows) {
  ASSERT_GT(Pool::size_class(990), 1000);
  EXPECT_EQ(must(pool_.acquire(DType::u8, {990})).capacity_bytes(), 1000);
}

TEST_F(SmallDevicePoolTest, kept_memory_is_given_back_when_the_device_has_no_more) {
  {
    must(pool_.acquire(DType::u8, {300}));
  }
  EXPECT_EQ(pool_.statistics().bytes_cached, 320);
  EXPECT_TRUE(pool_.acquire(DType::u8, {768}));
}

TEST_F(SmallDevicePoolTest, a_request_that_fails_leaves_nothing_in_use) {
  const Buffer held = must(pool_.acquire(DType::u8, {500}));
  expect_error(pool_.acquire(DType::u8, {600}), Code::out_of_memory, {"all gone"});
  EXPECT_EQ(pool_.statistics().bytes_in_use, 512);
  EXPECT_EQ(pool_.statistics().peak_bytes_in_use, 512);
}

}  // namespace
}  // namespace norite
