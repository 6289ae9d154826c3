// SPDX-License-Identifier: MIT
// Checked mode: every kind of mistake is found and described, and correct kernels pass.
#include "msl/executor_support.hpp"

namespace norite {
namespace {

using cpu::msl::Launch;
using test::bind;
using test::expect_error;
using test::must;

class ExecutorCheckedTest : public ::testing::Test {
 protected:
  // Buffer 0 is read-only, 1 and 2 are written to; slot 0 has 256 bytes.
  Result<void> run(const std::string& body, std::array<int64_t, 3> groups = {2, 1, 1},
                   std::array<int64_t, 3> threads = {64, 1, 1}) {
    const auto object = test::kernel(body, true);
    EXPECT_TRUE(object->checked());
    return cpu::msl::run(*object,
                         {.kernel = "checked",
                          .groups = groups,
                          .threads = threads,
                          .buffers = {bind(0, in_, true), bind(1, out_), bind(2, more_)},
                          .slots = {{0, 256}},
                          .time_limit = std::chrono::seconds(60)},
                         test::ThreadsCall());
  }
  void expect_found(const std::string& body, std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(body);
    const auto result = run(body);
    expect_error(result, Code::check_failed, {"checked"});
    if (!result) expect_error(result, Code::check_failed, words);
  }
  void expect_clean(const std::string& body) {
    SCOPED_TRACE(body);
    const auto result = run(body);
    EXPECT_TRUE(result) << result.error().message;
  }

  std::vector<int> in_ = std::vector<int>(128, 1);
  std::vector<int> out_ = std::vector<int>(128);
  std::vector<unsigned char> more_ = std::vector<unsigned char>(128);
};

TEST_F(ExecutorCheckedTest, out_of_bounds_on_a_buffer) {
  expect_found("\nbuffer(int, 1)[place.position_in_grid.x + 1] = 1;",
               {"out of bounds", "write by thread 63 of group (1, 0, 0) at k.metal:2;",
                "4 bytes, 0 bytes past the end of buffer 1 (512 bytes)"});
  EXPECT_EQ(out_[127], 1);  // what came before was done
  expect_found("if (place.index_in_group == 5) buffer(int, 1)[place.lane] = buffer(int, 0)[131];",
               {"read by thread 5 of group (0, 0, 0)", "12 bytes past the end of buffer 0"});
  expect_found("buffer(int, 1)[place.lane] = *(int*)(buffer(char, 0) - 2);",
               {"2 bytes before the start of buffer 0"});
  expect_found("*(int*)(buffer(char, 1) + 510) = 3;",
               {"reaching 2 bytes past the end of buffer 1"});
  expect_found("*buffer(int, 7) = 1;", {"null pointer"});
  expect_found("__builtin_memset(buffer(char, 2), 0, place.lane * 10);",
               {"past the end of buffer 2"});
  EXPECT_EQ(more_, std::vector<unsigned char>(128));
}

TEST_F(ExecutorCheckedTest, out_of_bounds_into_the_buffer_beside_it) {
  const auto object = test::kernel("buffer(int, 1)[0] = buffer(int, 0)[4];", true);
  auto first = bind(0, in_, true);
  auto second = bind(1, in_);
  first.bytes = 16;
  second.data = in_.data() + 4;
  second.bytes = 16;
  expect_error(
      cpu::msl::run(*object, {.kernel = "beside", .buffers = {first, second}}, test::ThreadsCall()),
      Code::check_failed, {"out of bounds", "0 bytes past the end of buffer 0"});
}

TEST_F(ExecutorCheckedTest, write_to_read_only_memory) {
  expect_found("buffer(int, 0)[place.lane] = 2;", {"write to read-only memory", "buffer 0"});
  EXPECT_EQ(in_[0], 1);
}

TEST_F(ExecutorCheckedTest, out_of_bounds_on_threadgroup_memory) {
  expect_found("slot(int, 0)[place.index_in_group + 1] = 1;",
               {"out of bounds", "thread 63", "past the end of threadgroup slot 0 (256 bytes)"});
  expect_found("VARIABLE(int[8], a); VARIABLE(int[8], b); a[place.lane] = 1; b[place.lane] = 1;",
               {"past the end of threadgroup variable", "(32 bytes)"});
  expect_found("VARIABLE(char[8], a); if (place.lane == 3) a[-1] = 1;",
               {"1 byte before the start of threadgroup variable 0"});
}

TEST_F(ExecutorCheckedTest, race_on_threadgroup_memory) {
  expect_found(R"(slot(int, 0)[place.index_in_group] = 1;
                  buffer(int, 1)[place.position_in_grid.x] = slot(int, 0)[63 - place.index_in_group];)",
               {"race on threadgroup memory", "k.metal:1", "k.metal:2", "threadgroup slot 0",
                "write by thread", "read by thread"});
  expect_found(
      "slot(int, 0)[place.index_in_group / 2] = 1;",
      {"race on threadgroup memory: write by thread 0 of group (0, 0, 0)", "write by thread 1"});
  // A barrier for another kind of memory orders nothing here.
  expect_found(R"(slot(int, 0)[place.index_in_group] = 1;
                  barrier(1);
                  slot(int, 0)[63 - place.index_in_group] += 1;)",
               {"race on threadgroup memory"});
  // Written while others may still read.
  expect_found(R"(slot(int, 0)[place.index_in_group] = 1;
                  barrier(2);
                  int v = slot(int, 0)[(place.index_in_group + 1) % 64];
                  slot(int, 0)[place.index_in_group] = v;)",
               {"race on threadgroup memory", "k.metal:3", "k.metal:4"});
  // All lanes read, one of the readers writes.
  expect_found(R"(slot(int, 0)[place.index_in_group] = 1;
                  barrier(2);
                  int v = slot(int, 0)[0];
                  buffer(int, 1)[place.position_in_grid.x] = v;
                  if (place.index_in_group == 63) slot(int, 0)[0] = v;)",
               {"race on threadgroup memory"});
}

TEST_F(ExecutorCheckedTest, bytes_beside_each_other_are_no_race) {
  expect_clean(R"(slot(char, 0)[place.index_in_group] = 1;
                  buffer(char, 2)[place.position_in_grid.x] = 1;)");
}

TEST_F(ExecutorCheckedTest, simdgroup_barriers_order_their_simdgroup_alone) {
  const std::string neighbour = R"(
    unsigned i = place.index_in_group, base = i / 32 * 32;
    slot(int, 0)[i] = 1;
    simd_barrier(2);
    buffer(int, 1)[place.position_in_grid.x] = slot(int, 0)[base + (i + 1) % 32];)";
  expect_clean(neighbour);
  std::string across = neighbour;
  across.replace(across.find("base + (i + 1) % 32"), 19, "(i + 32) % 64");
  expect_found(across, {"race on threadgroup memory"});
  std::string other_memory = neighbour;
  other_memory.replace(other_memory.find("barrier(2)"), 10, "barrier(1)");
  expect_found(other_memory, {"race on threadgroup memory"});
  std::string exchange = neighbour;
  exchange.replace(exchange.find("simd_barrier(2)"), 15, "simd_sum(1)");
  expect_found(exchange, {"race on threadgroup memory"});
}

TEST_F(ExecutorCheckedTest, race_on_device_memory) {
  expect_found("buffer(int, 1)[0] = 1;",
               {"race on device memory", "4 bytes at byte 0 of buffer 1"});
  expect_found(R"(buffer(int, 1)[place.position_in_grid.x] = 1;
                  barrier(2);
                  int v = buffer(int, 1)[place.position_in_grid.x ^ 1];
                  barrier(1);
                  buffer(int, 1)[place.position_in_grid.x] = v;)",
               {"race on device memory", "k.metal:1", "k.metal:3"});
  expect_clean(R"(buffer(int, 1)[place.position_in_grid.x] = 1;
                  barrier(1);
                  int v = buffer(int, 1)[place.position_in_grid.x ^ 1];
                  barrier(3);
                  buffer(int, 1)[place.position_in_grid.x] = v;)");
}

TEST_F(ExecutorCheckedTest, race_between_groups) {
  expect_found("if (place.index_in_group == 7) buffer(int, 1)[3] = 1;",
               {"race between groups on device memory", "thread 7 of group (0, 0, 0)",
                "thread 7 of group (1, 0, 0)", "byte 12 of buffer 1"});
  // Read by one group, written by the next, which has read it itself before.
  expect_found(R"(unsigned i = place.position_in_grid.x;
                  int v = buffer(int, 1)[(i + 1) % 128];
                  barrier(3);
                  v += buffer(int, 1)[i];
                  barrier(3);
                  buffer(int, 1)[i] = v;)",
               {"race between groups on device memory", "k.metal:2", "k.metal:6"});
}

TEST_F(ExecutorCheckedTest, atomics_race_with_plain_accesses_alone) {
  expect_clean(R"(__atomic_fetch_add(buffer(int, 1), 1, __ATOMIC_RELAXED);
                  int seen = __atomic_load_n(buffer(int, 1), __ATOMIC_RELAXED);
                  __atomic_compare_exchange_n(buffer(int, 1), &seen, seen + 1, true, 0, 0);)");
  EXPECT_GE(out_[0], 128);
  expect_found(R"(__atomic_fetch_add(buffer(int, 1), 1, __ATOMIC_RELAXED);
                  if (place.index_in_group == 9) buffer(int, 1)[0] = 0;)",
               {"race on device memory", "atomic update by thread", "write by thread 9"});
  expect_found(R"(if (place.index_in_group == 9) buffer(int, 1)[0] = 0;
                  __atomic_fetch_or(buffer(int, 1), 1, __ATOMIC_RELAXED);)",
               {"race on device memory"});
}

TEST_F(ExecutorCheckedTest, read_of_memory_nobody_wrote) {
  expect_found(
      "buffer(int, 1)[place.position_in_grid.x] = slot(int, 0)[place.index_in_group];",
      {"read of threadgroup memory that no thread has written", "k.metal:1", "threadgroup slot 0"});
  // What an earlier group wrote does not count.
  expect_found(R"(if (place.group_position.x == 0) slot(int, 0)[place.index_in_group] = 1;
                  barrier(2);
                  buffer(int, 1)[place.position_in_grid.x] = slot(int, 0)[place.index_in_group];)",
               {"that no thread has written", "group (1, 0, 0)", "k.metal:3"});
}

TEST_F(ExecutorCheckedTest, divergent_barriers) {
  expect_found("if (place.index_in_group == 40) return;\nbarrier(2);",
               {"threadgroup barrier that not every thread reaches", "waits: thread 0", "k.metal:2",
                "has ended: thread 40"});
  expect_found("if (place.index_in_group < 3)\nbarrier(2);\nelse\nbarrier(2);",
               {"not every thread reaches", "k.metal:2", "k.metal:4"});
}

TEST_F(ExecutorCheckedTest, mistakes_are_counted_and_listed_once) {
  const auto result = run("buffer(int, 1)[0] = 1;");
  ASSERT_FALSE(result);
  const std::string& text = result.error().message;
  EXPECT_NE(text.find("2 kinds of mistake, 127 in all"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_F(ExecutorCheckedTest, private_memory_constants_and_exchanges_are_no_mistakes) {
  expect_clean(R"(
    static const int kTable[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    int mine[64];
    volatile int* escaped = mine;
    for (int i = 0; i < 64; ++i) escaped[i] = i;
    for (int i = 0; i < 64; ++i) mine[i] += kTable[(i + place.lane) % 8];
    struct Block { int v[24]; } block;
    __builtin_memcpy(&block, buffer(int, 0), sizeof block);
    volatile Block copy = block;
    int sum = simd_sum(mine[place.lane] + copy.v[3]);
    poll();
    barrier(0);
    buffer(int, 1)[place.position_in_grid.x] = sum + escaped[63];
  )");
}

TEST_F(ExecutorCheckedTest, a_tree_reduction_passes_and_each_of_its_barriers_matters) {
  const std::string tree = R"(
    VARIABLE(int[64], shared);
    unsigned i = place.index_in_group;
    shared[i] = buffer(int, 0)[place.position_in_grid.x];
    barrier(2);
    for (unsigned stride = 32; stride > 0; stride /= 2) {
      if (i < stride) shared[i] += shared[i + stride];
      barrier(2);
    }
    int sum = shared[0];
    barrier(2);
    shared[i] = sum;
    buffer(int, 1)[place.position_in_grid.x] = shared[i];)";
  expect_clean(tree);
  EXPECT_EQ(out_, std::vector<int>(128, 64));
  for (size_t at = tree.find("barrier(2)"); at != std::string::npos;
       at = tree.find("barrier(2)", at + 1)) {
    std::string mutant = tree;
    mutant.replace(at, 10, "          ");
    expect_found(mutant, {"race on threadgroup memory"});
  }
}

TEST_F(ExecutorCheckedTest, overlapping_views_share_their_past) {
  const auto object = test::kernel(R"(
    if (place.index_in_group == 0) buffer(int, 0)[1] = 1;
    if (place.index_in_group == 1) buffer(int, 2)[0] = buffer(int, 1)[0];
  )",
                                   true);
  auto whole = bind(0, out_);
  auto part = bind(1, out_, true);
  part.data = out_.data() + 1;
  part.bytes = 4;
  const auto result = cpu::msl::run(
      *object, {.kernel = "views", .threads = {2, 1, 1}, .buffers = {whole, part, bind(2, in_)}},
      test::ThreadsCall());
  expect_error(result, Code::check_failed, {"race on device memory", "buffer 0"});
}

TEST_F(ExecutorCheckedTest, a_read_may_reach_beyond_what_is_written) {
  const auto object = test::kernel("*(long*)buffer(int, 1) = *(long*)(buffer(int, 0) + 63);", true);
  auto whole = bind(0, in_, true);
  auto part = bind(1, in_);
  part.bytes = 256;  // the read of 8 bytes at 252 ends behind it
  must(cpu::msl::run(*object, {.kernel = "views", .buffers = {whole, part}}, test::ThreadsCall()));
}

TEST_F(ExecutorCheckedTest, a_flood_of_mistakes_is_cut_short) {
  std::string body;
  for (int i = 0; i < 40; ++i) body += "buffer(int, 1)[" + std::to_string(i) + "] = 1;\n";
  const auto result = run(body);
  expect_error(result, Code::check_failed, {"16 kinds of mistake", "in all"});
}

TEST_F(ExecutorCheckedTest, an_endless_kernel_is_stopped) {
  const auto object = test::kernel("for (;;) poll();", true);
  expect_error(
      cpu::msl::run(*object, {.kernel = "forever", .time_limit = std::chrono::milliseconds(50)},
                    test::ThreadsCall()),
      Code::timeout, {"forever"});
}

}  // namespace
}  // namespace norite
