// SPDX-License-Identifier: MIT
// Kernels in the executor: where their threads stand, how they wait for each other, how they end.
#include <chrono>
#include <numeric>

#include "msl/executor_support.hpp"
#include "scoped_env.hpp"

namespace norite {
namespace {

using cpu::msl::Launch;
using cpu::msl::run;
using test::bind;
using test::expect_error;
using test::kernel;
using test::must;
using test::ThreadsCall;

TEST(ExecutorTest, every_thread_runs_once_and_knows_its_place) {
  const auto object = kernel(R"(
    unsigned* out = buffer(unsigned, 0) + 8 * (place.position_in_grid.x +
        place.grid_size.x * (place.position_in_grid.y + place.grid_size.y * place.position_in_grid.z));
    out[0] += 1;
    out[1] = place.group_position.x + 10 * place.group_position.y + 100 * place.group_position.z;
    out[2] = place.index_in_group;
    out[3] = place.lane + 100 * place.simdgroup;
    out[4] = place.simdgroups;
    out[5] = place.position_in_group.x + 10 * place.position_in_group.y +
             100 * place.position_in_group.z;
    out[6] = place.group_size.x + 10 * place.group_size.y + 100 * place.group_size.z;
    out[7] = place.groups.x + 10 * place.groups.y + 100 * place.groups.z;
  )");
  // Ragged in each dimension: 11 = 4 + 4 + 3, 8 = 5 + 3, 5 = 2 + 2 + 1.
  std::vector<unsigned> out(11 * 8 * 5 * 8);
  for (const int threads : {1, 3}) {
    std::fill(out.begin(), out.end(), 0);
    const Launch launch{
        .kernel = "place", .threads = {4, 5, 2}, .grid = {{11, 8, 5}}, .buffers = {bind(0, out)}};
    must(run(*object, launch, ThreadsCall(threads)));
    const unsigned* at = out.data();
    for (unsigned z = 0; z < 5; ++z) {
      for (unsigned y = 0; y < 8; ++y) {
        for (unsigned x = 0; x < 11; ++x, at += 8) {
          const unsigned sx = x < 8 ? 4 : 3, sy = y < 5 ? 5 : 3, sz = z < 4 ? 2 : 1;
          const unsigned px = x % 4, py = y % 5, pz = z % 2;
          const unsigned index = px + sx * (py + sy * pz);
          EXPECT_EQ(at[0], 1U);
          EXPECT_EQ(at[1], x / 4 + 10 * (y / 5) + 100 * (z / 2));
          EXPECT_EQ(at[2], index);
          EXPECT_EQ(at[3], index % 32 + 100 * (index / 32));
          EXPECT_EQ(at[4], (sx * sy * sz + 31) / 32);
          EXPECT_EQ(at[5], px + 10 * py + 100 * pz);
          EXPECT_EQ(at[6], sx + 10 * sy + 100 * sz);
          EXPECT_EQ(at[7], 3U + 20 + 300);
        }
      }
    }
  }
}

TEST(ExecutorTest, a_grid_in_groups_is_as_large_as_its_groups) {
  const auto object = kernel("buffer(unsigned, 0)[place.position_in_grid.x] = place.grid_size.x;");
  std::vector<unsigned> out(36);
  must(run(*object,
           {.kernel = "size", .groups = {5, 1, 1}, .threads = {7, 1, 1}, .buffers = {bind(0, out)}},
           ThreadsCall()));
  EXPECT_EQ(out[34], 35U);
  EXPECT_EQ(out[35], 0U);
}

// A tree in threadgroup memory: wrong as soon as one thread passes a barrier early.
constexpr const char* kTreeSum = R"(
  VARIABLE(int[1024], shared);
  unsigned i = place.index_in_group, n = place.group_size.x;
  shared[i] = buffer(int, 0)[place.position_in_grid.x];
  barrier(2);
  for (unsigned stride = 512; stride > 0; stride /= 2) {
    if (i < stride && i + stride < n) shared[i] += shared[i + stride];
    barrier(2);
  }
  if (i == 0) buffer(int, 1)[place.group_position.x] = shared[0];
  if (slot(int, 3)) slot(int, 3)[i] = 0;
)";

TEST(ExecutorTest, barriers_hold_every_thread_back) {
  const auto object = kernel(kTreeSum);
  for (const int threads : {1, 2, 31, 32, 33, 64, 100, 256, 1000, 1024}) {
    SCOPED_TRACE(threads);
    constexpr int kGroups = 13;
    std::vector<int> in(static_cast<size_t>(threads) * kGroups);
    std::iota(in.begin(), in.end(), 1);
    std::vector<int> out(kGroups);
    must(run(*object,
             {.kernel = "tree_sum",
              .groups = {kGroups, 1, 1},
              .threads = {threads, 1, 1},
              .buffers = {bind(0, in, true), bind(1, out)}},
             ThreadsCall(2)));
    for (int group = 0; group < kGroups; ++group) {
      const auto begin = in.begin() + group * threads;
      EXPECT_EQ(out[static_cast<size_t>(group)], std::accumulate(begin, begin + threads, 0));
    }
  }
}

TEST(ExecutorTest, threads_that_have_ended_hold_up_no_barrier) {
  const auto object = kernel(R"(
    if (place.index_in_group % 3 == 0) return;
    for (unsigned i = 0; i < place.index_in_group % 7; ++i) barrier(2);
    __atomic_fetch_add(buffer(int, 0), 1, __ATOMIC_RELAXED);
  )");
  std::vector<int> out(1);
  must(run(*object, {.kernel = "early", .threads = {100, 1, 1}, .buffers = {bind(0, out)}},
           ThreadsCall()));
  EXPECT_EQ(out[0], 66);
}

TEST(ExecutorTest, an_exchange_is_among_the_lanes_of_one_simdgroup) {
  const auto object = kernel(R"(
    unsigned i = place.index_in_group;
    buffer(int, 0)[i] = simd_sum(int(i)) + simd_sum(1) * 10000;
  )");
  std::vector<int> out(70);
  must(run(*object, {.kernel = "sum", .threads = {70, 1, 1}, .buffers = {bind(0, out)}},
           ThreadsCall()));
  EXPECT_EQ(out[0], 31 * 16 + 320000);
  EXPECT_EQ(out[63], 31 * 16 + 32 * 32 + 320000);
  EXPECT_EQ(out[69], 64 + 65 + 66 + 67 + 68 + 69 + 60000);
}

TEST(ExecutorTest, lanes_that_took_different_branches_meet_again) {
  const auto object = kernel(R"(
    unsigned lane = place.lane;
    unsigned* out = buffer(unsigned, 0) + 4 * lane;
    if (lane % 2 == 0) {
      out[0] = simd_active();
    } else {
      out[0] = simd_active();
      out[1] = simd_active();
    }
    out[2] = simd_active();
    for (unsigned i = 0; i < lane; ++i) {
      if (simd_sum(1) != 31 - int(i)) return;  // lanes i + 1 to 31 are still in the loop
    }
    out[3] = simd_active();
  )");
  std::vector<unsigned> out(128);
  must(run(*object, {.kernel = "branch", .threads = {32, 1, 1}, .buffers = {bind(0, out)}},
           ThreadsCall()));
  constexpr unsigned kEven = 0x55555555;
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[4 * lane], lane % 2 == 0 ? kEven : ~kEven) << lane;
    EXPECT_EQ(out[4 * lane + 1], lane % 2 == 0 ? 0 : ~kEven) << lane;
    EXPECT_EQ(out[4 * lane + 2], ~0U) << lane;
    EXPECT_EQ(out[4 * lane + 3], ~0U) << lane;
  }
}

TEST(ExecutorTest, simdgroup_barriers_order_lanes) {
  const auto object = kernel(R"(
    VARIABLE(unsigned[64], shared);
    unsigned i = place.index_in_group, other = i / 32 * 32 + (i + 31) % 32;
    for (unsigned round = 0; round < 50; ++round) {
      shared[i] = round;
      simd_barrier(2);
      if (shared[other] != round) buffer(int, 0)[i] = 1;
      simd_barrier(2);
    }
  )");
  std::vector<int> out(64);
  must(run(*object, {.kernel = "lanes", .threads = {64, 1, 1}, .buffers = {bind(0, out)}},
           ThreadsCall()));
  EXPECT_EQ(out, std::vector<int>(64));
}

TEST(ExecutorTest, slots_are_memory_of_the_group) {
  const auto object = kernel(R"(
    unsigned i = place.index_in_group;
    slot(int, 0)[i] = int(place.position_in_grid.x);
    slot(int, 5)[i] = 7;
    barrier(2);
    buffer(int, 0)[place.position_in_grid.x] = slot(int, 0)[63 - i] + slot(int, 5)[i];
  )");
  std::vector<int> out(640);
  must(run(*object,
           {.kernel = "slots",
            .groups = {10, 1, 1},
            .threads = {64, 1, 1},
            .buffers = {bind(0, out)},
            .slots = {{0, 256}, {5, 256}}},
           ThreadsCall(2)));
  for (int i = 0; i < 640; ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], i / 64 * 64 + 63 - i % 64 + 7);
}

TEST(ExecutorTest, refuses_what_metal_refuses) {
  const auto object = kernel(kTreeSum);
  std::vector<int> in(1024), out(1);
  const Launch good{
      .kernel = "limits", .threads = {32, 1, 1}, .buffers = {bind(0, in, true), bind(1, out)}};
  const auto outcome = [&](auto change) {
    Launch launch = good;
    change(launch);
    return run(*object, launch, ThreadsCall());
  };
  must(outcome([](Launch&) {}));
  expect_error(outcome([](Launch& l) { l.threads = {33, 32, 1}; }), Code::invalid_argument,
               {"limits", "1056 threads", "1024"});
  expect_error(outcome([](Launch& l) { l.threads = {0, 1, 1}; }), Code::invalid_argument, {"in x"});
  expect_error(outcome([](Launch& l) { l.threads = {1, 1, -4}; }), Code::invalid_argument,
               {"in z"});
  expect_error(outcome([](Launch& l) { l.groups = {1, 0, 1}; }), Code::invalid_argument, {"in y"});
  expect_error(outcome([](Launch& l) { l.grid = {{5, 5, 0}}; }), Code::invalid_argument, {"in z"});
  expect_error(outcome([](Launch& l) { l.groups = {int64_t{1} << 28, 1, 1}; }),
               Code::invalid_argument, {"4294967295"});
  expect_error(outcome([](Launch& l) { l.groups = {INT64_MAX, INT64_MAX, 1}; }),
               Code::invalid_argument);
  expect_error(outcome([](Launch& l) {
                 l.threads = {1, 1, 1};
                 l.groups = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
               }),
               Code::invalid_argument, {"too many"});
  expect_error(outcome([](Launch& l) { l.slots = {{31, 16}}; }), Code::invalid_argument, {"31"});
  expect_error(outcome([](Launch& l) { l.slots = {{1, 0}}; }), Code::invalid_argument);
  expect_error(outcome([](Launch& l) { l.slots = {{1, 16}, {1, 16}}; }), Code::invalid_argument);
  expect_error(outcome([](Launch& l) { l.slots = {{0, 16384}, {1, 16400}}; }),
               Code::invalid_argument, {"32784", "32768"});
  expect_error(outcome([](Launch& l) { l.buffers[0].index = 31; }), Code::invalid_argument, {"31"});
  // The kernel's variable has 4096 bytes: known from its earlier runs.
  must(outcome([](Launch& l) { l.slots = {{3, 32768 - 4096}}; }));
  expect_error(outcome([](Launch& l) { l.slots = {{3, 32768 - 4080}}; }), Code::invalid_argument,
               {"4096", "28688"});
}

TEST(ExecutorTest, variables_beyond_the_limit_are_refused_when_met) {
  const auto object =
      kernel("VARIABLE(char[20000], a); VARIABLE(char[20000], b); a[0] = b[0] = 0;");
  expect_error(run(*object, {.kernel = "big", .groups = {100, 1, 1}}, ThreadsCall(2)),
               Code::invalid_argument, {"big", "threadgroup variables", "32768"});
  const auto small = kernel("VARIABLE(char[20000], a); a[0] = 0;");
  expect_error(run(*small, {.kernel = "small", .slots = {{0, 16384}}}, ThreadsCall()),
               Code::invalid_argument, {"small", "16384"});
  must(run(*small, {.kernel = "small", .slots = {{0, 8192}}}, ThreadsCall()));
}

TEST(ExecutorTest, buffers_hold_what_the_kernel_needs) {
  std::string text = test::kernel_text("buffer(int, 2)[0] = 1;");
  text.replace(text.rfind("{}}"), 3, "{0, 0, 16}}");
  const test::TemporaryFolder folder;
  const test::ScopedEnv env("NORITE_CACHE_DIR", folder.path().c_str());
  const auto cache = must(core::ObjectCache::open());
  const auto object = must(cpu::msl::compile(cache, "k", text, false));
  std::vector<int> few(3), enough(4);
  expect_error(run(*object, {.kernel = "k", .buffers = {bind(2, few)}}, ThreadsCall()),
               Code::invalid_argument, {"buffer 2", "12 bytes", "16"});
  expect_error(run(*object, {.kernel = "k", .buffers = {bind(1, enough)}}, ThreadsCall()),
               Code::invalid_argument, {"buffer 2", "not bound"});
  must(run(*object, {.kernel = "k", .buffers = {bind(2, enough)}}, ThreadsCall()));
  EXPECT_EQ(enough[0], 1);
}

TEST(ExecutorTest, a_kernel_that_never_ends_is_stopped) {
  const auto endless = kernel(R"(
    if (place.position_in_grid.x == 70) for (;;) poll();
    barrier(2);
  )");
  const auto waiting = kernel("for (;;) barrier(2);");
  const auto object = kernel("buffer(int, 0)[place.position_in_grid.x] = simd_sum(1);");
  std::vector<int> out(64);
  for (const auto& forever : {endless, waiting}) {
    const auto start = std::chrono::steady_clock::now();
    const auto result = run(*forever,
                            {.kernel = "forever",
                             .groups = {4, 1, 1},
                             .threads = {64, 1, 1},
                             .time_limit = std::chrono::milliseconds(50)},
                            ThreadsCall(2));
    expect_error(result, Code::timeout, {"forever", "group (", "thread ", "50 ms"});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    // The threads that were left where they stood are fit for the next kernel.
    must(run(*object, {.kernel = "next", .threads = {64, 1, 1}, .buffers = {bind(0, out)}},
             ThreadsCall()));
    EXPECT_EQ(out, std::vector<int>(64, 32));
  }
  expect_error(run(*endless,
                   {.kernel = "forever",
                    .groups = {4, 1, 1},
                    .threads = {64, 1, 1},
                    .time_limit = std::chrono::milliseconds(50)},
                   ThreadsCall()),
               Code::timeout, {"group (1, 0, 0)", "thread 6"});
}

TEST(ExecutorTest, a_time_limit_that_is_kept_changes_nothing) {
  const auto object = kernel("buffer(int, 0)[0] = 1;");
  std::vector<int> out(1);
  must(run(*object,
           {.kernel = "quick", .buffers = {bind(0, out)}, .time_limit = std::chrono::hours(1)},
           ThreadsCall()));
  EXPECT_EQ(out[0], 1);
}

}  // namespace
}  // namespace norite
