// SPDX-License-Identifier: MIT
// Which commands wait for which, by their bytes and by fences.
#include "core/dependencies.hpp"

#include "core/recording.hpp"
#include "norite/encoder.hpp"
#include "support.hpp"

namespace norite::core {
namespace {

using test::must;

class DependenciesTest : public ::testing::Test {
 protected:
  [[nodiscard]] View floats(int64_t count = 64) const {
    return must(device_.empty(DType::f32, {count}));
  }
  void copy(const View& to, const View& from) {
    must(encoder_.dispatch(kernel_, std::array<Argument, 2>{from, to}));
  }
  std::vector<DependencyNode> find() { return find_dependencies(must(Recording::take(encoder_))); }
  std::vector<std::vector<size_t>> waits() {
    std::vector<std::vector<size_t>> result;
    for (const DependencyNode& node : find()) result.push_back(node.waits_for);
    return result;
  }

  using Waits = std::vector<std::vector<size_t>>;
  Device device_ = test::null_device();
  Pipeline kernel_ =
      test::idle_kernel(device_, "copy", {{"from", Access::read}, {"to", Access::write}});
  Encoder encoder_ = Recording::begin(device_, std::make_shared<CaptureSession>());
  View a_ = floats(), b_ = floats(), c_ = floats(), d_ = floats();
};

TEST_F(DependenciesTest, reads_and_writes_wait_for_each_other) {
  copy(b_, a_);
  copy(c_, b_);  // reads what was written
  copy(a_, d_);  // writes what was read
  copy(c_, d_);  // writes what was written
  EXPECT_EQ(waits(), (Waits{{}, {0}, {0}, {1}}));
}

TEST_F(DependenciesTest, a_write_waits_for_every_reader) {
  copy(b_, a_);
  copy(c_, a_);
  copy(a_, d_);
  EXPECT_EQ(waits(), (Waits{{}, {}, {0, 1}}));
}

TEST_F(DependenciesTest, slices_meet_where_their_bytes_do) {
  const View x = must(b_.slice(0, 0, 32)), y = must(c_.slice(0, 0, 32));
  copy(must(a_.slice(0, 0, 32)), x);
  copy(must(a_.slice(0, 32, 64)), x);
  copy(y, must(a_.slice(0, 32, 64)));
  copy(y, must(a_.slice(0, 16, 48)));
  EXPECT_EQ(waits(), (Waits{{}, {}, {1}, {0, 1, 2}}));
}

TEST_F(DependenciesTest, a_fence_is_a_join_between_all_before_and_all_behind) {
  copy(b_, a_);
  copy(c_, b_);
  copy(d_, a_);
  must(encoder_.fence());
  copy(b_, a_);
  copy(c_, a_);
  const auto nodes = find();
  ASSERT_EQ(nodes.size(), 6u);
  EXPECT_FALSE(nodes[3].command);
  EXPECT_EQ(nodes[3].waits_for, (std::vector<size_t>{1, 2}));  // nobody else awaits them
  for (const size_t behind : {4u, 5u}) {
    EXPECT_EQ(nodes[behind].waits_for, std::vector<size_t>{3});
    EXPECT_EQ(nodes[behind].command, behind - 1);
  }
}

TEST_F(DependenciesTest, each_fence_waits_for_the_one_before) {
  for (int i = 0; i < 3; ++i) {
    must(encoder_.fence());
    copy(b_, a_);
  }
  EXPECT_EQ(waits(), (Waits{{}, {0}, {1}, {2}, {3}}));
}

// Naming every reader for every writer would take 400 million entries.
TEST_F(DependenciesTest, very_many_readers_and_writers_take_linear_memory) {
  constexpr int64_t kCount = 20'000;
  const View wide = floats(kCount), other = floats(kCount);
  for (const bool write : {false, true}) {
    for (int64_t i = 0; i < kCount; ++i) {
      const View here = must(wide.slice(0, i, i + 1)), there = must(other.slice(0, i, i + 1));
      write ? copy(here, there) : copy(there, here);
    }
  }
  const auto nodes = find();
  size_t waits = 0;
  for (const DependencyNode& node : nodes) waits += node.waits_for.size();
  EXPECT_LT(waits, size_t{40} * 2 * kCount);
  EXPECT_LT(nodes.size(), size_t{3} * kCount);
}

/// What has ended when a node begins.
std::vector<bool> ended_before(const std::vector<DependencyNode>& nodes, size_t node) {
  std::vector<bool> ended(nodes.size(), false);
  for (const size_t earlier : nodes[node].waits_for) ended[earlier] = true;
  for (size_t i = node; i-- > 0;) {
    if (!ended[i]) continue;
    for (const size_t earlier : nodes[i].waits_for) ended[earlier] = true;
  }
  return ended;
}

// So many at a time are taken together; fences lie in between.
TEST_F(DependenciesTest, each_of_many_writers_waits_for_the_reader_of_its_bytes) {
  constexpr size_t kCount = 300;
  const View wide = floats(kCount), other = floats(kCount);
  for (const bool write : {false, true}) {
    for (int64_t i = 0; i < int64_t{kCount}; ++i) {
      if (i % 128 == 100) must(encoder_.fence());
      const View here = must(wide.slice(0, i, i + 1)), there = must(other.slice(0, i, i + 1));
      write ? copy(here, there) : copy(there, here);
    }
  }
  const auto nodes = find();
  std::vector<size_t> place(2 * kCount);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].command) place[*nodes[i].command] = i;
  }
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_TRUE(ended_before(nodes, place[kCount + i])[place[i]]) << i;
  }
}

}  // namespace
}  // namespace norite::core
