// SPDX-License-Identifier: MIT
// The stand-in for Metal finds each misuse that it promises to find: a check that lets everything
// pass would prove nothing about the backend.
#include <future>

#include "metal/bridge.hpp"

namespace norite::test {
namespace {

using namespace metal;  // NOLINT: Metal is what this is about

constexpr MTLSize kOne = {1, 1, 1};

class RulesTest : public MetalTest {
 protected:
  void SetUp() override {
    MetalTest::SetUp();
    if (!IsSkipped()) pool_.emplace();
  }
  void TearDown() override {
    pool_.reset();
    MetalTest::TearDown();
  }

  std::optional<AutoreleasePool> pool_;
};

/// A kernel, a buffer of one int and an encoder.
class EncoderRulesTest : public RulesTest {
 protected:
  void SetUp() override {
    RulesTest::SetUp();
    if (IsSkipped()) return;
    metal_.emplace("kernel void k(device int* x [[buffer(0)]]) { x[0] = x[0] * 2 + 1; }");
    x_ = metal_->buffer(4);
    command_buffer_ = metal_->command_buffer();
    encoder_ = BareMetal::encoder(command_buffer_);
  }
  void TearDown() override {
    x_ = {};
    metal_.reset();
    RulesTest::TearDown();
  }
  void bind() {
    msg::set_pipeline(encoder_, metal_->pipeline);
    msg::set_buffer(encoder_, x_, 0, 0);
  }
  void finish() {
    msg::end_encoding(encoder_);
    msg::commit(command_buffer_);
    msg::wait_until_completed(command_buffer_);
  }

  std::optional<BareMetal> metal_;
  Object x_;
  Id command_buffer_ = nullptr, encoder_ = nullptr;
};

// --- Objects -----------------------------------------------------------------------------------

TEST_F(RulesTest, the_dead_take_no_messages) {
  const Id string = string_of("short-lived");  // its hold ends with this line
  EXPECT_EQ(msg::utf8_string(string), nullptr);
  runtime()->objc_retain(string);
  runtime()->objc_release(string);
  expected_breaches = {"UTF8String is sent to a dead NSString", "a dead NSString is retained",
                       "a dead NSString is released"};
}

TEST_F(RulesTest, unknown_messages) {
  constexpr Message<void()> nonsense("nonsense");
  nonsense(string_of("text"));
  expected_breaches = {"a NSString does not understand nonsense"};
}

TEST_F(RulesTest, messages_to_nil_are_nothing) { EXPECT_EQ(msg::count(nullptr), 0U); }

TEST_F(RulesTest, what_is_never_released_is_counted) {
  const Id leaked = runtime()->objc_retain(string_of("held"));
  EXPECT_EQ(stand_in().live_objects, 1);
  runtime()->objc_release(leaked);
}

TEST_F(RulesTest, autoreleased_objects_need_a_pool) {
  pool_.reset();
  const Id process = msg::process_info(class_named("NSProcessInfo"));
  runtime()->objc_release(process);
  expected_breaches = {"a NSProcessInfo is autoreleased where there is no pool"};
}

TEST_F(RulesTest, pools_are_popped_in_their_order) {
  void* const outer = runtime()->objc_autoreleasePoolPush();
  void* const inner = runtime()->objc_autoreleasePoolPush();
  runtime()->objc_autoreleasePoolPop(outer);
  runtime()->objc_autoreleasePoolPop(inner);
  runtime()->objc_autoreleasePoolPop(outer);
  expected_breaches = {"pools are popped in another order than they were pushed"};
}

// --- Text --------------------------------------------------------------------------------------

TEST_F(RulesTest, text_says_that_nothing_is_fused) {
  const BareMetal metal("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }");
  Id error = nullptr;
  const auto library = Object::adopt(msg::new_library(
      metal.device, string_of("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }"),
      make("MTLCompileOptions"), &error));
  EXPECT_TRUE(stand_in().fast_math);  // Metal's default
  expected_breaches = {"kernel text allows products and sums to be fused"};
}

TEST_F(RulesTest, function_constants_need_their_values) {
  const BareMetal metal("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }");
  Id error = nullptr;
  const auto library = Object::adopt(msg::new_library(
      metal.device,
      string_of("#pragma METAL fp contract(off)\nconstant bool b [[function_constant(0)]];\n"
                "kernel void k(device int* x [[buffer(0)]]) { x[0] = b; }"),
      make("MTLCompileOptions"), &error));
  const auto function = Object::adopt(msg::new_function(library, string_of("k")));
  EXPECT_EQ(Id(function), nullptr);
  expected_breaches = {"newFunctionWithName: for a library that has function constants"};
}

// --- Command buffers ---------------------------------------------------------------------------

TEST_F(EncoderRulesTest, a_dispatch_that_keeps_them) {
  bind();
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  finish();
  EXPECT_EQ(msg::status(command_buffer_), 4U);
}

TEST_F(EncoderRulesTest, nothing_is_encoded_after_the_end) {
  msg::end_encoding(encoder_);
  bind();
  msg::set_bytes(encoder_, "1", 1, 1);
  msg::set_threadgroup_memory(encoder_, 16, 0);
  msg::memory_barrier(encoder_, MTLBarrierScopeBuffers);
  msg::insert_debug_signpost(encoder_, string_of("late"));
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::dispatch_threads(encoder_, kOne, kOne);
  msg::end_encoding(encoder_);
  expected_breaches = {"setComputePipelineState: after endEncoding",
                       "setBuffer:offset:atIndex: after endEncoding",
                       "setBytes:length:atIndex: after endEncoding",
                       "setThreadgroupMemoryLength:atIndex: after endEncoding",
                       "memoryBarrierWithScope: after endEncoding",
                       "insertDebugSignpost: after endEncoding",
                       "dispatchThreadgroups:threadsPerThreadgroup: after endEncoding",
                       "dispatchThreads:threadsPerThreadgroup: after endEncoding",
                       "endEncoding after endEncoding"};
}

TEST_F(EncoderRulesTest, order_of_a_command_buffers_life) {
  msg::wait_until_completed(command_buffer_);
  msg::commit(command_buffer_);
  const Id second = BareMetal::encoder(command_buffer_);
  msg::end_encoding(second);
  finish();
  msg::commit(command_buffer_);
  const Id late = BareMetal::encoder(command_buffer_);
  msg::end_encoding(late);
  expected_breaches = {
      "waitUntilCompleted: before commit", "commit: before the encoder's endEncoding",
      "an encoder is made while another has not ended", "commit: for the second time",
      "an encoder is made of a committed command buffer"};
}

TEST_F(EncoderRulesTest, encoders_are_ended) {
  {
    const AutoreleasePool inner;
    EXPECT_NE(BareMetal::encoder(metal_->command_buffer()), nullptr);
  }
  msg::end_encoding(encoder_);
  expected_breaches = {"an encoder is released before its endEncoding",
                       "a command buffer is released before its encoder's endEncoding"};
}

// --- Dispatches --------------------------------------------------------------------------------

TEST_F(EncoderRulesTest, bindings_lie_within_their_bounds) {
  msg::set_buffer(encoder_, x_, 4, 0);
  msg::set_buffer(encoder_, x_, 0, 31);
  const std::vector<char> large(4097);
  msg::set_bytes(encoder_, large.data(), large.size(), 0);
  msg::set_bytes(encoder_, large.data(), 0, 0);
  msg::set_bytes(encoder_, large.data(), 1, 31);
  msg::end_encoding(encoder_);
  expected_breaches = {"setBuffer: offset 4 of 4 bytes", "setBuffer: at index 31, of at most 30",
                       "setBytes: 4097 bytes, of 1 to 4096", "setBytes: 0 bytes, of 1 to 4096",
                       "setBytes: at index 31, of at most 30"};
}

TEST_F(EncoderRulesTest, everything_is_bound) {
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::set_pipeline(encoder_, metal_->pipeline);
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::set_bytes(encoder_, "ab", 2, 0);
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::end_encoding(encoder_);
  expected_breaches = {"a dispatch: there is no pipeline",
                       "a dispatch: nothing is bound at index 0",
                       "a dispatch: 2 bytes at index 0, of at least 4"};
}

TEST_F(EncoderRulesTest, limits_of_threads) {
  bind();
  msg::dispatch_threadgroups(encoder_, kOne, {32, 33, 1});
  msg::dispatch_threadgroups(encoder_, {1, 0, 1}, kOne);
  msg::dispatch_threads(encoder_, {0, 1, 1}, kOne);
  msg::end_encoding(encoder_);
  expected_breaches = {"a dispatch: 1056 threads a group, of at most 1024",
                       "a dispatch: the grid is empty", "a dispatch: the grid is empty"};
}

TEST_F(RulesTest, limits_of_threadgroup_memory) {
  const BareMetal metal(
      "kernel void k(device int* x [[buffer(0)]], threadgroup int* t [[threadgroup(0)]]) {}");
  const Object x = metal.buffer(4);
  const Id command_buffer = metal.command_buffer();
  const Id encoder = BareMetal::encoder(command_buffer);
  msg::set_pipeline(encoder, metal.pipeline);
  msg::set_buffer(encoder, x, 0, 0);
  msg::dispatch_threadgroups(encoder, kOne, kOne);
  msg::set_threadgroup_memory(encoder, 24, 0);
  msg::set_threadgroup_memory(encoder, 32784, 0);
  msg::dispatch_threadgroups(encoder, kOne, kOne);
  msg::end_encoding(encoder);
  expected_breaches = {"a dispatch: threadgroup memory 0 has no length",
                       "setThreadgroupMemoryLength: 24 is no multiple of 16",
                       "a dispatch: 32784 bytes of threadgroup memory, of at most 32768"};
}

// --- Order -------------------------------------------------------------------------------------

TEST_F(EncoderRulesTest, a_missing_barrier_is_found) {
  const BareMetal other("kernel void k(device int* x [[buffer(0)]]) { x[0] = 7; }");
  bind();
  msg::insert_debug_signpost(encoder_, string_of("one"));
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::insert_debug_signpost(encoder_, string_of("two"));
  msg::set_pipeline(encoder_, other.pipeline);
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  finish();
  expected_breaches = {"a barrier is missing between two of one, two"};
}

TEST_F(EncoderRulesTest, a_barrier_gives_an_order) {
  const BareMetal other("kernel void k(device int* x [[buffer(0)]]) { x[0] = 7; }");
  bind();
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::memory_barrier(encoder_, MTLBarrierScopeBuffers);
  msg::set_pipeline(encoder_, other.pipeline);
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  finish();
  EXPECT_EQ(*static_cast<int*>(msg::contents(x_)), 7);
}

// --- Lives -------------------------------------------------------------------------------------

TEST_F(EncoderRulesTest, resources_outlive_the_work) {
  std::promise<void> go;
  stand_in().before_run = [&go] { go.get_future().wait(); };
  stand_in().failing_dispatch = "k";  // it must not run on memory that is gone
  bind();
  msg::insert_debug_signpost(encoder_, string_of("k"));
  msg::dispatch_threadgroups(encoder_, kOne, kOne);
  msg::end_encoding(encoder_);
  msg::commit(command_buffer_);
  x_ = {};
  metal_->pipeline = {};
  go.set_value();
  msg::wait_until_completed(command_buffer_);
  expected_breaches = {"an MTLBuffer is released before the work that uses it has ended",
                       "an MTLComputePipelineState is released before the work that uses it"};
}

TEST_F(RulesTest, buffers_leave_their_residency_set_first) {
  const BareMetal metal("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }");
  Id error = nullptr;
  const auto set = Object::adopt(
      msg::new_residency_set(metal.device, make("MTLResidencySetDescriptor"), &error));
  const Object kept = metal.buffer(16);
  msg::remove_allocation(set, kept);
  msg::add_allocation(set, kept);
  msg::add_allocation(set, kept);
  msg::add_allocation(set, metal.buffer(16));
  msg::remove_allocation(set, kept);
  expected_breaches = {"removeAllocation: for a buffer that is not in the set",
                       "addAllocation: twice for the same buffer",
                       "an MTLBuffer is released that a residency set still has"};
}

}  // namespace
}  // namespace norite::test
