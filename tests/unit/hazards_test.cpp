// SPDX-License-Identifier: MIT
#include "core/hazards.hpp"

#include "support.hpp"

namespace norite::core {
namespace {

using test::must;

class HazardsTest : public ::testing::Test {
 protected:
  // Records a dispatch; true if it needs a barrier.
  bool add(std::initializer_list<View> reads, std::initializer_list<View> writes) {
    Accesses accesses;
    for (const View& read : reads) accesses.reads.push_back(footprint(read));
    for (const View& write : writes) accesses.writes.push_back(footprint(write));
    return tracker_.add(accesses);
  }

  View tensor() { return must(device_.empty(DType::f32, {4, 8})); }

  Device device_ = test::null_device();
  HazardTracker tracker_;
  View a_ = tensor(), b_ = tensor(), c_ = tensor();
};

TEST_F(HazardsTest, reading_what_was_written_waits) {
  EXPECT_FALSE(add({a_}, {b_}));
  EXPECT_TRUE(add({b_}, {c_}));
}

TEST_F(HazardsTest, writing_what_was_read_waits) {
  EXPECT_FALSE(add({a_}, {b_}));
  EXPECT_TRUE(add({}, {a_}));
}

TEST_F(HazardsTest, writing_what_was_written_waits) {
  EXPECT_FALSE(add({}, {a_}));
  EXPECT_TRUE(add({}, {a_}));
}

TEST_F(HazardsTest, reading_what_was_read_does_not_wait) {
  EXPECT_FALSE(add({a_}, {b_}));
  EXPECT_FALSE(add({a_}, {c_}));
}

TEST_F(HazardsTest, a_dispatch_does_not_wait_for_itself) { EXPECT_FALSE(add({a_}, {a_})); }

TEST_F(HazardsTest, sibling_slices_do_not_wait_for_each_other) {
  EXPECT_FALSE(add({}, {must(a_.slice(1, 0, 4))}));
  EXPECT_FALSE(add({}, {must(a_.slice(1, 4, 8))}));
  EXPECT_TRUE(add({must(a_.slice(0, 2, 3))}, {}));
}

TEST_F(HazardsTest, a_barrier_clears_everything_before_it) {
  EXPECT_FALSE(add({a_}, {b_}));
  EXPECT_TRUE(add({b_}, {c_}));
  EXPECT_FALSE(add({}, {a_})) << "its reader ended at the barrier";
  EXPECT_FALSE(add({b_}, {})) << "its writer ended at the barrier";
  EXPECT_TRUE(add({c_}, {})) << "written since the barrier";
}

TEST_F(HazardsTest, the_dispatch_behind_a_barrier_is_followed_itself) {
  EXPECT_FALSE(add({}, {a_}));
  EXPECT_TRUE(add({a_}, {b_}));
  EXPECT_TRUE(add({}, {a_})) << "the second one reads it";
}

TEST_F(HazardsTest, a_conflict_several_dispatches_back_is_found) {
  EXPECT_FALSE(add({}, {a_}));
  std::vector<View> kept;  // as an encoder keeps what was recorded
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(add({}, {kept.emplace_back(tensor())}));
  EXPECT_FALSE(add({b_}, {c_}));
  EXPECT_TRUE(add({a_}, {}));
}

TEST_F(HazardsTest, among_very_many_slices_conflicts_are_found) {
  const View many = must(device_.empty(DType::f32, {1000, 8}));
  const auto row = [&](int64_t i) { return must(many.slice(0, i, i + 1)); };
  for (const int64_t conflict : {0, 200, 300, 999}) {
    tracker_ = {};
    for (int64_t i = 0; i < 1000; ++i) EXPECT_FALSE(add({}, {row(i)}));
    EXPECT_TRUE(add({row(conflict)}, {})) << conflict;
  }
}

TEST_F(HazardsTest, a_fence_ends_what_came_before) {
  EXPECT_FALSE(add({}, {a_}));
  tracker_.fence();
  EXPECT_FALSE(add({a_}, {b_}));
  EXPECT_TRUE(add({b_}, {}));
}

}  // namespace
}  // namespace norite::core
