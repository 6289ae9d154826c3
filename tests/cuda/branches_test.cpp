// SPDX-License-Identifier: MIT
// Which nodes of a CUDA graph wait for which, as a stand-in for the driver sees it.
#include <array>
#include <random>
#include <set>

#include "cuda/cuda_support.hpp"
#include "norite/norite.hpp"

namespace norite {
namespace {

using test::must;

constexpr const char* kKernels =
    "kernel void add_floats(device float* y [[buffer(0)]], device const float* a [[buffer(1)]],\n"
    "                       device const float* b [[buffer(2)]],\n"
    "                       uint i [[thread_position_in_grid]]) { y[i] = a[i] + b[i]; }\n"
    "[[kernel, cooperative(1)]] void add_together(\n"
    "    device float* y [[buffer(0)]], device const float* a [[buffer(1)]],\n"
    "    device const float* b [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
    "  y[i] = a[i] + b[i]; }\n"
    "kernel void add_table(device float* y [[buffer(0)]], device const float* a [[buffer(1)]],\n"
    "                      constant float* table [[buffer(2)]],\n"
    "                      uint i [[thread_position_in_grid]]) { y[i] = a[i] + table[i]; }\n";

using Waits = std::vector<std::vector<size_t>>;

class CudaBranchesTest : public test::CudaTest {
 protected:
  CudaBranchesTest() { stand_in().buffer_bytes = {4, 4, 4}; }

  [[nodiscard]] Pipeline kernel_named(const char* name) const {
    return must(kernel(device, name, kKernels));
  }
  [[nodiscard]] View floats() const { return must(device.empty(DType::f32, {64})); }

  Result<void> add(Encoder& encoder, const View& to, const View& one, const View& two) const {
    return dispatch(encoder, plain, {to, one, two});
  }
  Result<void> copy(Encoder& encoder, const View& to, const View& from) const {
    return add(encoder, to, from, from);
  }
  static Result<void> dispatch(Encoder& encoder, const Pipeline& pipeline,
                               const std::vector<Argument>& arguments) {
    return encoder.dispatch(pipeline, arguments, {.threads = {64, 1, 1}});
  }

  /// What each node waits for; nodes are in the order of the optimised graph.
  Waits waits(const Graph::Record& record, bool optimise = true) {
    Graph graph = must(Graph::capture(device, record));
    if (optimise) must(graph.optimise());
    must(graph.replay());
    EXPECT_EQ(stand_in().graph_launches, ++replays_) << "the capture failed";
    return seen();
  }
  [[nodiscard]] Waits seen() const {
    Waits result;
    for (const auto& node : stand_in().nodes) result.push_back(node.waits_for);
    return result;
  }

  [[nodiscard]] size_t streams() const {
    std::set<void*> streams;
    for (const auto& node : stand_in().nodes) streams.insert(node.stream);
    return streams.size();
  }

  /// Whether a node runs after another in any case.
  static bool follows(const Waits& waits, size_t later, size_t earlier) {
    return std::ranges::any_of(waits[later], [&](size_t one) {
      return one == earlier || (one > earlier && follows(waits, one, earlier));
    });
  }

  const Device device = must(open());
  const Pipeline plain = kernel_named("add_floats");
  const View a = floats(), b = floats(), c = floats(), d = floats(), e = floats(), f = floats();

 private:
  long replays_ = 0;
};

TEST_F(CudaBranchesTest, chains_are_branches_that_join) {
  const View sum = floats();
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, b, a));
    NORITE_TRY(copy(encoder, c, b));
    NORITE_TRY(copy(encoder, e, d));
    NORITE_TRY(copy(encoder, f, e));
    return add(encoder, sum, c, f);
  };
  EXPECT_EQ(waits(record), (Waits{{}, {}, {0}, {1}, {2, 3}}));
  EXPECT_EQ(streams(), 2u);
}

TEST_F(CudaBranchesTest, branches_fork_and_are_used_again) {
  const auto record = [&](Encoder& encoder) -> Result<void> {
    for (int i = 0; i < 3; ++i) {
      NORITE_TRY(copy(encoder, b, a));
      NORITE_TRY(copy(encoder, c, a));
      NORITE_TRY(add(encoder, a, b, c));
    }
    return {};
  };
  const Waits got = waits(record);
  ASSERT_EQ(got.size(), 9u);
  for (size_t i = 0; i < 9; i += 3) {
    EXPECT_FALSE(follows(got, i + 1, i));
    EXPECT_TRUE(follows(got, i + 2, i) && follows(got, i + 2, i + 1));
    if (i == 0) continue;
    EXPECT_TRUE(follows(got, i, i - 1) && follows(got, i + 1, i - 1));
  }
  EXPECT_EQ(streams(), 2u);
}

TEST_F(CudaBranchesTest, the_recorded_order_is_one_branch) {
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, b, a));
    NORITE_TRY(copy(encoder, d, c));
    return copy(encoder, f, e);
  };
  EXPECT_EQ(waits(record, false), (Waits{{}, {0}, {1}}));
  EXPECT_EQ(waits(record), (Waits{{}, {}, {}}));
}

TEST_F(CudaBranchesTest, writes_wait_for_reads_and_writes) {
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, b, a));
    NORITE_TRY(copy(encoder, d, c));
    NORITE_TRY(copy(encoder, a, e));  // what the first one reads
    return copy(encoder, d, f);       // what the second one writes
  };
  EXPECT_EQ(waits(record), (Waits{{}, {}, {0}, {1}}));
}

TEST_F(CudaBranchesTest, slices_meet_where_their_bytes_do) {
  const View low = must(a.slice(0, 0, 32)), high = must(a.slice(0, 32, 64)),
             middle = must(a.slice(0, 16, 48)), x = must(b.slice(0, 0, 32)),
             y = must(c.slice(0, 0, 32));
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, low, x));
    NORITE_TRY(copy(encoder, high, x));
    return copy(encoder, y, middle);
  };
  EXPECT_EQ(waits(record), (Waits{{}, {}, {0, 1}}));
}

TEST_F(CudaBranchesTest, nothing_crosses_a_fence) {
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, b, a));
    NORITE_TRY(copy(encoder, d, c));
    NORITE_TRY(encoder.fence());
    NORITE_TRY(copy(encoder, f, e));
    return copy(encoder, b, a);
  };
  const Waits got = waits(record);
  for (const size_t later : {2u, 3u}) {
    for (const size_t earlier : {0u, 1u}) EXPECT_TRUE(follows(got, later, earlier));
  }
  EXPECT_FALSE(follows(got, 3, 2));
}

TEST_F(CudaBranchesTest, chains_with_intermediates_in_one_arena_stay_apart) {
  stand_in().buffer_bytes = {};
  const Device whole = must(Device::open("cuda"));
  const auto make = [&] { return must(whole.empty(DType::f32, {64})); };
  const View x = make(), y = make(), z = make();
  const auto norms = [&](Encoder& encoder, const View& to, int count) -> Result<void> {
    View from = x;
    for (int i = 1; i <= count; ++i) {
      const View next = i < count ? View(make()) : to;
      NORITE_TRY(ops::rms_norm(encoder, {.x = from, .y = next}));
      from = next;
    }
    return {};
  };
  Graph graph = must(Graph::capture(whole, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(norms(encoder, y, 3));
    return norms(encoder, z, 5);
  }));
  EXPECT_GT(must(graph.optimise()).arena_bytes, 0);
  must(graph.replay());
  EXPECT_EQ(seen(), (Waits{{}, {}, {0}, {1}, {2}, {3}, {5}, {6}}));
}

TEST_F(CudaBranchesTest, kernels_whose_groups_wait_run_one_at_a_time) {
  const Pipeline together = kernel_named("add_together");
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(dispatch(encoder, together, {b, a, a}));
    NORITE_TRY(dispatch(encoder, together, {c, a, a}));
    NORITE_TRY(copy(encoder, d, a));
    return dispatch(encoder, together, {e, a, a});
  };
  const Waits got = waits(record);
  EXPECT_EQ(stand_in().launches.at(0).attributes.at(0), cuda::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(got, (Waits{{}, {0}, {}, {1}}));
}

TEST_F(CudaBranchesTest, constants_are_there_before_the_kernel) {
  const Pipeline with_table = kernel_named("add_table");
  std::array<float, 64> values;
  values.fill(1.5f);
  const Argument table = Argument::bytes(values);
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, b, a));
    return dispatch(encoder, with_table, {c, a, table});
  };
  const float* found = nullptr;  // by the second kernel
  stand_in().on_launch = [&](const test::StandInLaunch& launch) {
    if (stand_in().launches.size() == 2) {
      found = *static_cast<const float**>(launch.parameters[2]);
    }
  };
  Graph graph = must(Graph::capture(device, record));
  must(graph.optimise());
  must(graph.replay());
  EXPECT_EQ(seen(), (Waits{{}, {}, {1}}));
  EXPECT_TRUE(stand_in().nodes.at(1).copy);
  EXPECT_EQ(stand_in().nodes.at(1).stream, stand_in().nodes.at(2).stream);
  EXPECT_EQ(*found, 1.5f);
}

TEST_F(CudaBranchesTest, what_cannot_branch_is_launched_one_by_one) {
  Graph graph = must(Graph::capture(device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(copy(encoder, b, a));
    return copy(encoder, d, c);
  }));
  must(graph.optimise());
  stand_in().failing = "cuStreamWaitEvent";
  stand_in().error = cuda::CUDA_ERROR_INVALID_VALUE;
  must(graph.replay());
  EXPECT_EQ(stand_in().launches.size(), 2u);
  EXPECT_EQ(stand_in().graph_launches, 0);
  EXPECT_EQ(stand_in().live_graphs, 0);
}

TEST_F(CudaBranchesTest, many_chains_share_few_branches) {
  constexpr size_t kChains = 20, kSteps = 3;
  const auto record = [&](Encoder& encoder) -> Result<void> {
    for (size_t chain = 0; chain < kChains; ++chain) {
      const View x = floats();
      for (size_t step = 0; step < kSteps; ++step) NORITE_TRY(copy(encoder, x, a));
    }
    return {};
  };
  const Waits got = waits(record);
  EXPECT_EQ(streams(), 8u);
  ASSERT_EQ(got.size(), kChains * kSteps);
  for (size_t i = kChains; i < got.size(); ++i) EXPECT_TRUE(follows(got, i, i - kChains)) << i;
}

/// Kernels that read and write slices at random, and for each what it touches.
TEST_F(CudaBranchesTest, conflicts_are_ordered_whatever_the_graph) {
  struct Range {
    int64_t buffer, begin, end;
    [[nodiscard]] bool meets(const Range& other) const {
      return buffer == other.buffer && begin < other.end && other.begin < end;
    }
  };
  struct Step {
    Range y, a, b;
    [[nodiscard]] bool conflicts(const Step& other) const {
      return y.meets(other.y) || y.meets(other.a) || y.meets(other.b) || other.y.meets(a) ||
             other.y.meets(b);
    }
  };
  std::mt19937 random(7);
  const std::vector<View> buffers = {a, b, c, d};
  const auto any = [&] {
    const auto begin = static_cast<int64_t>(random() % 4) * 8;
    return Range{static_cast<int64_t>(random() % 4), begin, begin + 16};
  };
  const auto view = [&](const Range& range) {
    return must(buffers[static_cast<size_t>(range.buffer)].slice(0, range.begin, range.end));
  };
  for (int graph = 0; graph < 50; ++graph) {
    std::vector<Step> steps;
    const Waits got = waits([&](Encoder& encoder) -> Result<void> {
      for (int i = 0; i < 40; ++i) {
        const Step& step = steps.emplace_back(Step{any(), any(), any()});
        NORITE_TRY(encoder.dispatch(plain,
                                    std::vector<Argument>{view(step.y), view(step.a), view(step.b)},
                                    {.groups = {i + 1, 1, 1}, .threads = {16, 1, 1}}));
      }
      return {};
    });
    // A launch's blocks say which step it is.
    const auto launches = std::span(stand_in().launches).last(steps.size());
    for (size_t later = 0; later < steps.size(); ++later) {
      for (size_t earlier = 0; earlier < later; ++earlier) {
        const unsigned i = launches[later].blocks[0] - 1, j = launches[earlier].blocks[0] - 1;
        if (!steps[i].conflicts(steps[j])) continue;
        EXPECT_GT(i, j) << "graph " << graph;
        EXPECT_TRUE(follows(got, later, earlier)) << "graph " << graph;
      }
    }
  }
}

}  // namespace
}  // namespace norite
