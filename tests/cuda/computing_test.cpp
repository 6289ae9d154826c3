// SPDX-License-Identifier: MIT
// What the stand-in finds that executes kernels, so that tests on it can fail.
#include "cuda/computing_support.hpp"

namespace norite {
namespace {

using test::contents;
using test::expect_error;
using test::must;

class Computing : public test::ComputingTest {
 protected:
  /// The stand-in describes what it finds on stderr.
  std::string fault_of(const Pipeline& pipeline, const std::vector<Argument>& arguments,
                       const Grid& grid) const {
    testing::internal::CaptureStderr();
    const auto done = run(pipeline, arguments, grid);
    std::string said = testing::internal::GetCapturedStderr();
    expect_error(done, Code::execution_failed);
    return said;
  }
};

constexpr const char* kReverse = R"(
  kernel void reverse(device uint* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint shared[256];
    shared[i] = i;
    BARRIER
    y[i] = shared[255 - i];
  })";

std::string reverse_with(const std::string& barrier) {
  std::string text = kReverse;
  return text.replace(text.find("BARRIER"), 7, barrier);
}

TEST_F(Computing, threads_meet_at_barriers) {
  const Pipeline reverse =
      kernel("reverse", reverse_with("threadgroup_barrier(mem_flags::mem_threadgroup);"));
  const Buffer y = must(device().empty(DType::u32, {256}));
  must(run(reverse, {y}, {.threads = {256, 1, 1}}));
  for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(contents<uint32_t>(y)[i], 255 - i);
}

TEST_F(Computing, a_race_is_found) {
  const Pipeline reverse = kernel("reverse", reverse_with(""));
  const Buffer y = must(device().empty(DType::u32, {256}));
  EXPECT_NE(fault_of(reverse, {y}, {.threads = {256, 1, 1}}).find("a race on shared memory"),
            std::string::npos);
}

TEST_F(Computing, a_race_inside_of_a_warp_is_found) {
  const Pipeline reverse = kernel("reverse", R"(
    kernel void reverse(device uint* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
      threadgroup uint shared[32];
      shared[i] = i;
      y[i] = shared[31 - i];
    })");
  const Buffer y = must(device().empty(DType::u32, {32}));
  EXPECT_NE(fault_of(reverse, {y}, {.threads = {32, 1, 1}}).find("a race on shared memory"),
            std::string::npos);
}

TEST_F(Computing, an_access_behind_a_buffer_is_found) {
  const Pipeline fill = kernel("fill", R"(
    kernel void fill(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = i; }
  )");
  const Buffer y = must(device().empty(DType::u32, {100}));
  must(run(fill, {y}, {.threads = {100, 1, 1}}));
  EXPECT_NE(fault_of(fill, {y}, {.threads = {101, 1, 1}}).find("at byte 400 of 400"),
            std::string::npos);
}

TEST_F(Computing, threads_that_wait_forever_are_found) {
  const Pipeline wait = kernel("wait", R"(
    kernel void wait(device atomic_uint* y [[buffer(0)]], uint group [[threadgroup_position_in_grid]]) {
      while (atomic_load_explicit(y, memory_order_relaxed) == 0) {}
    })");
  const Buffer y = must(device().empty(DType::u32, {1}));
  EXPECT_NE(fault_of(wait, {y}, {.threads = {1, 1, 1}}).find("wait for what does not come"),
            std::string::npos);
}

// What is copied is not there before it has been waited for.
TEST_F(Computing, a_copy_that_nobody_waits_for_is_rubbish) {
  const auto first_of = [&](const std::string& name, const std::string& wait) {
    const Pipeline pipeline = kernel(name, "kernel void " + name + R"((
          device uint* y [[buffer(0)]], device const uint* x [[buffer(1)]],
          uint i [[thread_index_in_threadgroup]]) {
        threadgroup uint4 shared[32];
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : :
                     "r"(uint(__cvta_generic_to_shared(shared + i))), "l"(x + 4 * i) : "memory");
        asm volatile("cp.async.commit_group;" : : : "memory");
        )" + wait + " y[i] = shared[i].x; }");
    const Buffer x = test::buffer_of(device(), DType::u32, std::vector<uint32_t>(128, 7));
    const Buffer y = must(device().empty(DType::u32, {32}));
    must(run(pipeline, {y, x}, {.threads = {32, 1, 1}}));
    return contents<uint32_t>(y)[0];
  };
  EXPECT_EQ(first_of("waits", R"(asm volatile("cp.async.wait_group 0;" : : : "memory");)"), 7U);
  EXPECT_EQ(
      first_of("waits_too_little", R"(asm volatile("cp.async.wait_group 1;" : : : "memory");)"),
      ~0U);
  EXPECT_EQ(first_of("does_not_wait", ""), ~0U);
}

}  // namespace
}  // namespace norite
