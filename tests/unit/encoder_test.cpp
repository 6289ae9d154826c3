// SPDX-License-Identifier: MIT
// Recording and its errors, on the null device.
#include "norite/encoder.hpp"

#include <array>

#include "support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::expect_refused;
using test::must;

class EncoderTest : public ::testing::Test {
 protected:
  // y = f(x), with constants.
  Result<void> dispatch(const View& x, const View& y, std::string_view label = {}) {
    return encoder_.dispatch(kernel_, std::array<Argument, 3>{x, y, Argument::bytes(7)}, {}, label);
  }
  // What was refused left no trace.
  void expect_nothing_recorded() {
    EXPECT_EQ(encoder_.counters().dispatches, 0);
    EXPECT_EQ(encoder_.counters().bytes_read, 0);
    EXPECT_EQ(encoder_.counters().bytes_written, 0);
  }
  View tensor() { return must(device_.empty(DType::f32, {4, 8})); }

  Device device_ = test::null_device();
  Pipeline kernel_ = test::idle_kernel(device_, "f",
                                       {{"x", Access::read},
                                        {"y", Access::write},
                                        {"params", Access::bytes},
                                        {"extra", Access::read_write, true}});
  Encoder encoder_ = device_.encoder({.timing = Timing::each});
  View a_ = tensor(), b_ = tensor(), c_ = tensor();
};

TEST_F(EncoderTest, counts_dispatches_barriers_submits_and_bytes) {
  must(dispatch(a_, b_));                       // the first one
  must(dispatch(a_, c_));                       // independent
  must(dispatch(b_, a_));                       // reads what was written
  must(dispatch(must(a_.slice(1, 0, 2)), b_));  // reads what was written
  EncoderCounters counters = encoder_.counters();
  EXPECT_EQ(counters.dispatches, 4);
  EXPECT_EQ(counters.barriers, 2);
  EXPECT_EQ(counters.submits, 0);
  EXPECT_EQ(counters.bytes_read, 3 * 128 + 32);
  EXPECT_EQ(counters.bytes_written, 4 * 128);
  must(encoder_.submit_and_wait());
  EXPECT_EQ(encoder_.counters().submits, 1);
}

TEST_F(EncoderTest, memory_that_is_read_and_written_counts_as_both) {
  must(encoder_.dispatch(kernel_, std::array<Argument, 4>{a_, b_, Argument::bytes(7), c_}));
  EXPECT_EQ(encoder_.counters().bytes_read, 2 * 128);
  EXPECT_EQ(encoder_.counters().bytes_written, 2 * 128);
  must(dispatch(c_, must(a_.slice(0, 0, 1))));
  EXPECT_EQ(encoder_.counters().barriers, 1);
}

TEST_F(EncoderTest, sibling_slices_of_one_buffer_need_no_barrier) {
  must(dispatch(a_, must(b_.slice(1, 0, 4))));
  must(dispatch(a_, must(b_.slice(1, 4, 8))));
  must(dispatch(must(a_.slice(0, 0, 2)), must(c_.slice(0, 1, 2))));
  EXPECT_EQ(encoder_.counters().barriers, 0);
}

TEST_F(EncoderTest, fences_are_barriers) {
  must(encoder_.fence());  // before the first there is nothing to wait for
  must(dispatch(a_, b_));
  must(encoder_.fence());
  must(encoder_.fence());
  must(dispatch(a_, c_));
  EXPECT_EQ(encoder_.counters().barriers, 1);
  must(encoder_.submit_and_wait());
  expect_error(encoder_.fence(), Code::failed_precondition, {"fence", "submitted already"});
}

TEST_F(EncoderTest, timings_name_the_dispatches_in_recorded_order) {
  must(dispatch(a_, b_, "first"));
  must(dispatch(b_, c_));
  must(dispatch(a_, a_, "third"));
  EXPECT_TRUE(encoder_.timings().empty()) << "nothing has run yet";
  must(encoder_.submit_and_wait());
  const auto timings = encoder_.timings();
  ASSERT_EQ(timings.size(), 3U);
  EXPECT_EQ(timings[0].name, "first");
  EXPECT_EQ(timings[1].name, "f") << "without a label, the kernel's name";
  EXPECT_EQ(timings[2].name, "third");
}

TEST_F(EncoderTest, a_list_timed_as_a_whole_has_one_entry) {
  Encoder whole = device_.encoder({.timing = Timing::whole});
  for (const View& to : {b_, c_}) {
    must(whole.dispatch(kernel_, std::array<Argument, 3>{a_, to, Argument::bytes(7)}));
  }
  EXPECT_TRUE(whole.timings().empty()) << "nothing has run yet";
  must(whole.submit_and_wait());
  EXPECT_EQ(whole.timings().size(), 1U);

  Encoder empty = device_.encoder({.timing = Timing::whole});
  must(empty.submit_and_wait());
  EXPECT_TRUE(empty.timings().empty());
}

TEST_F(EncoderTest, there_are_no_timings_unless_asked_for) {
  Encoder plain = device_.encoder();
  must(plain.dispatch(kernel_, std::array<Argument, 3>{a_, b_, Argument::bytes(7)}));
  must(plain.submit_and_wait());
  EXPECT_TRUE(plain.timings().empty());
}

TEST_F(EncoderTest, an_empty_encoder_can_be_submitted) {
  must(encoder_.submit_and_wait());
  EXPECT_EQ(encoder_.counters().submits, 1);
  EXPECT_TRUE(encoder_.timings().empty());
}

TEST_F(EncoderTest, it_knows_its_device) { EXPECT_EQ(encoder_.device().state(), device_.state()); }

TEST_F(EncoderTest, a_missing_argument_is_refused_by_name) {
  expect_refused(dispatch(a_, {}, "label"), {"label", "\"y\"", "not bound"});
  expect_refused(dispatch({}, b_), {"f", "\"x\"", "not bound"});
  expect_refused(encoder_.dispatch(kernel_, std::array<Argument, 2>{a_, b_}),
                 {"f", "\"params\"", "not bound"});
  expect_refused(encoder_.dispatch(kernel_, {}), {"f", "\"x\""});
  expect_nothing_recorded();
}

TEST_F(EncoderTest, an_optional_argument_may_be_missing) {
  EXPECT_TRUE(dispatch(a_, b_));
  EXPECT_TRUE(
      encoder_.dispatch(kernel_, std::array<Argument, 4>{a_, b_, Argument::bytes(7), Argument()}));
}

TEST_F(EncoderTest, an_argument_of_the_wrong_kind_is_refused_by_name) {
  expect_refused(encoder_.dispatch(kernel_, std::array<Argument, 3>{a_, b_, c_}),
                 {"f", "\"params\"", "view", "constants"});
  expect_refused(encoder_.dispatch(
                     kernel_, std::array<Argument, 3>{Argument::bytes(1), b_, Argument::bytes(7)}),
                 {"f", "\"x\"", "view", "constants"});
  expect_nothing_recorded();
}

TEST_F(EncoderTest, too_many_arguments_are_refused) {
  const std::vector<Argument> five(5, a_);
  expect_refused(encoder_.dispatch(kernel_, five), {"f", "5", "4"});
  expect_nothing_recorded();
}

TEST_F(EncoderTest, memory_of_another_device_is_refused_by_name) {
  const Device other = test::null_device();
  const View foreign = must(other.empty(DType::f32, {4, 8}));
  expect_refused(dispatch(foreign, b_), {"f", "\"x\"", "another device"});
  expect_refused(dispatch(a_, foreign), {"f", "\"y\"", "another device"});
  const View pooled = must(other.pool().acquire(DType::f32, {4, 8}));
  expect_refused(dispatch(a_, pooled), {"another device"});
  expect_nothing_recorded();
}

TEST_F(EncoderTest, an_output_that_repeats_its_elements_is_refused_by_name) {
  const View repeated = must(View::make(b_.buffer(), DType::f32, {4, 8}, {0, 1}, 0));
  expect_refused(dispatch(a_, repeated), {"f", "\"y\"", "[0, 1]"});
  expect_nothing_recorded();
  EXPECT_TRUE(dispatch(repeated, a_)) << "reading an element twice is fine";
}

TEST_F(EncoderTest, a_pipeline_of_another_device_is_refused) {
  const Device other = test::null_device();
  const Pipeline foreign = test::idle_kernel(other, "g", {});
  expect_refused(encoder_.dispatch(foreign, {}), {"pipeline", "another"});
  expect_nothing_recorded();
}

TEST_F(EncoderTest, a_pipeline_of_a_closed_and_forgotten_device_is_refused) {
  const Pipeline orphan = test::idle_kernel(test::null_device(), "g", {});
  // A new device may well lie where the old one was.
  for (int i = 0; i < 20; ++i) {
    Encoder encoder = test::null_device().encoder();
    expect_refused(encoder.dispatch(orphan, {}), {"another device"});
  }
}

TEST_F(EncoderTest, an_empty_pipeline_is_refused) {
  expect_refused(encoder_.dispatch({}, {}), {"pipeline", "empty"});
  expect_nothing_recorded();
}

TEST_F(EncoderTest, a_grid_without_threads_is_refused) {
  const Pipeline plain = test::idle_kernel(device_, "plain", {});
  for (const Grid& grid : {Grid{{0, 1, 1}, {1, 1, 1}}, Grid{{1, -1, 1}, {1, 1, 1}},
                           Grid{{1, 1, 1}, {1, 1, 0}}, Grid{{1, 1, 1}, {1, INT64_MIN, 1}}}) {
    expect_refused(encoder_.dispatch(plain, {}, grid), {"plain", "grid"});
  }
  expect_nothing_recorded();
}

TEST_F(EncoderTest, a_refused_dispatch_leaves_no_hazard_behind) {
  const std::array<Argument, 4> wrong = {a_, b_, Argument::bytes(7), Argument::bytes(7)};
  expect_refused(encoder_.dispatch(kernel_, wrong), {"\"extra\""});
  must(dispatch(b_, c_));
  EXPECT_EQ(encoder_.counters().barriers, 0);
}

TEST_F(EncoderTest, after_submit_it_takes_nothing_more) {
  must(dispatch(a_, b_));
  must(encoder_.submit());
  expect_error(dispatch(a_, b_, "late"), Code::failed_precondition, {"late", "submitted"});
  expect_error(encoder_.submit(), Code::failed_precondition, {"submit", "submitted"});
  expect_error(encoder_.submit_and_wait(), Code::failed_precondition, {"submitted"});
  EXPECT_EQ(encoder_.counters().dispatches, 1);
  EXPECT_EQ(encoder_.counters().submits, 1);
  EXPECT_TRUE(encoder_.wait());
  EXPECT_TRUE(encoder_.wait()) << "waiting twice is fine";
}

TEST_F(EncoderTest, waiting_before_submit_is_refused) {
  expect_error(encoder_.wait(), Code::failed_precondition, {"wait"});
  expect_error(Event().wait(), Code::failed_precondition, {"event"});
  EXPECT_FALSE(Event().done());
}

TEST_F(EncoderTest, a_closed_device_takes_nothing_more) {
  must(dispatch(a_, b_));
  device_.close();
  expect_error(dispatch(a_, b_, "late"), Code::failed_precondition, {"late", "closed"});
  expect_error(encoder_.submit(), Code::failed_precondition, {"submit", "closed"});
  expect_error(encoder_.submit_and_wait(), Code::failed_precondition, {"closed"});
  expect_error(device_.encoder().dispatch(kernel_, {}), Code::failed_precondition, {"f"});
  expect_error(device_.empty(DType::f32, {1}), Code::failed_precondition, {"buffer", "closed"});
  EXPECT_EQ(test::contents<float>(a_.buffer()).size(), 32U) << "buffers stay readable";
}

TEST_F(EncoderTest, moving_it_keeps_what_was_recorded) {
  must(dispatch(a_, b_));
  Encoder moved = std::move(encoder_);
  EXPECT_EQ(moved.counters().dispatches, 1);
  encoder_ = std::move(moved);
  must(dispatch(b_, c_));
  EXPECT_EQ(encoder_.counters().barriers, 1);
  must(encoder_.submit_and_wait());
}

}  // namespace
}  // namespace norite
