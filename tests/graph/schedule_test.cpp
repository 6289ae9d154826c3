// SPDX-License-Identifier: MIT
// Stages, and the memory of intermediates over them.
#include <gtest/gtest.h>

#include <ctime>

#include "graph/graph_support.hpp"

namespace norite {
namespace {

using test::Buffers;
using test::must;
using test::optimised;

const Shape kRows = {4, 64};

/// Stages of the operations in the order in which they run.
std::vector<int64_t> stages(const Graph& graph) {
  std::vector<int64_t> result;
  for (const auto& operation : graph.describe().operations) result.push_back(operation.stage);
  return result;
}

using Stages = std::vector<int64_t>;

class Schedule : public ::testing::Test {
 protected:
  /// Two steps of a chain that no rule fuses: the intermediate is seen from outside.
  Result<void> chain(Encoder& encoder, const View& from, const View& middle, const View& to) const {
    NORITE_TRY(ops::silu(encoder, {.x = from, .y = middle}));
    return ops::gelu(encoder, {.x = middle, .y = to});
  }

  Buffers buffers{test::cpu_device(), DType::f32};
  const View a = buffers.fill(kRows), b = buffers.fill(kRows), c = buffers.fill(kRows),
             d = buffers.fill(kRows), e = buffers.fill(kRows), f = buffers.fill(kRows);
};

TEST_F(Schedule, IndependentChainsRunSideBySide) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(chain(encoder, a, b, c));
    return chain(encoder, d, e, f);
  });
  EXPECT_EQ(stages(graph), (Stages{0, 0, 1, 1}));
  EXPECT_EQ(report.barriers_before, 2);
  EXPECT_EQ(report.barriers_after, 1);
  EXPECT_EQ(report.moved, 1);
}

TEST_F(Schedule, DependenciesKeepTheirOrder) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(ops::silu(encoder, {.x = a, .y = b}));  // writes b
    NORITE_TRY(ops::silu(encoder, {.x = b, .y = c}));  // reads b
    NORITE_TRY(ops::silu(encoder, {.x = d, .y = b}));  // writes b again
    return ops::silu(encoder, {.x = b, .y = e});       // reads that
  });
  EXPECT_EQ(stages(graph), (Stages{0, 1, 2, 3}));
  EXPECT_EQ(report.moved, 0);
}

TEST_F(Schedule, ViewsThatShareBytesDependOnEachOther) {
  const View wide = buffers.fill({8, 64});
  const View low = must(wide.slice(0, 0, 4)), middle = must(wide.slice(0, 2, 6)),
             high = must(wide.slice(0, 4, 8));
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(ops::silu(encoder, {.x = a, .y = low}));
    NORITE_TRY(ops::silu(encoder, {.x = b, .y = high}));
    return ops::silu(encoder, {.x = middle, .y = c});
  });
  EXPECT_EQ(stages(graph), (Stages{0, 0, 1}));
}

TEST_F(Schedule, NothingCrossesAFence) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(chain(encoder, a, b, c));
    NORITE_TRY(encoder.fence());
    return chain(encoder, d, e, f);
  });
  EXPECT_EQ(stages(graph), (Stages{0, 1, 2, 3}));
}

TEST_F(Schedule, FencesOutliveOperationsThatVanish) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(ops::silu(encoder, {.x = a, .y = b}));
    NORITE_TRY(encoder.fence());
    {
      const View unread = buffers.temporary(kRows);
      NORITE_TRY(ops::silu(encoder, {.x = a, .y = unread}));
    }
    const View t = buffers.temporary(kRows);
    NORITE_TRY(ops::silu(encoder, {.x = c, .y = t}));
    return ops::mul(encoder, {.a = t, .b = c, .y = d});
  });
  EXPECT_EQ(stages(graph), (Stages{0, 1})) << to_string(report);
}

TEST_F(Schedule, OrderStaysWhereItIsAskedTo) {
  Graph graph = must(Graph::capture(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(chain(encoder, a, b, c));
    return chain(encoder, d, e, f);
  }));
  const GraphReport report = must(graph.optimise({.reorder = false}));
  EXPECT_EQ(report.moved, 0);
  EXPECT_EQ(stages(graph), (Stages{0, 1, 1, 2}));
}

// --- Memory -----------------------------------------------------------------------------------

/// rms_norm after rms_norm: intermediates that no rule removes.
Result<void> record_norms(Encoder& encoder, const Buffers& buffers, const View& x, const View& y,
                          int count) {
  View from = x;
  for (int i = 0; i < count; ++i) {
    const View to = i + 1 == count ? y : buffers.temporary(x.shape());
    NORITE_TRY(ops::rms_norm(encoder, {.x = from, .y = to}));
    from = to;
  }
  return {};
}

TEST_F(Schedule, IntermediatesShareAnArena) {
  auto [graph, report] = optimised(
      buffers.device, [&](Encoder& encoder) { return record_norms(encoder, buffers, a, b, 10); });
  EXPECT_EQ(report.intermediate_bytes, 9 * a.size_bytes());
  EXPECT_EQ(report.arena_bytes, 2 * a.size_bytes());  // one is read while the next is written
  must(graph.replay());
  const auto got = test::download_bytes(b);
  test::run(buffers.device,
            [&](Encoder& encoder) { return record_norms(encoder, buffers, a, b, 10); });
  EXPECT_EQ(got, test::download_bytes(b));
}

TEST_F(Schedule, WhatIsHeldOutsideStaysWhereItIs) {
  const View t = buffers.temporary(kRows), u = buffers.temporary(kRows);
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(ops::rms_norm(encoder, {.x = a, .y = t}));
    NORITE_TRY(ops::rms_norm(encoder, {.x = t, .y = u}));
    return ops::rms_norm(encoder, {.x = u, .y = b});
  });
  EXPECT_EQ(report.arena_bytes, 0);
  must(graph.replay());
  EXPECT_NE(test::download(t), std::vector<float>(256, 0.0f));
}

TEST_F(Schedule, ScratchOfOperationsIsIntermediateToo) {
  const View x = buffers.fill({64, 64}), w = buffers.fill({64}), dy = buffers.fill({64, 64}),
             dw = buffers.fill({64}), dw2 = buffers.fill({64});
  const auto record = [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(ops::rms_norm_backward(encoder, {.x = x, .weight = w, .dy = dy, .dw = dw}));
    NORITE_TRY(encoder.fence());
    return ops::rms_norm_backward(encoder, {.x = dy, .weight = w, .dy = x, .dw = dw2});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_GT(report.intermediate_bytes, report.arena_bytes);
  EXPECT_GT(report.arena_bytes, 0);
  must(graph.replay());
  const auto got = test::download_bytes(dw2);
  test::run(buffers.device, record);
  EXPECT_EQ(got, test::download_bytes(dw2));
}

TEST_F(Schedule, KernelsOfTheUsersMayLeaveBytesAsTheyWere) {
  // A buffer that such a kernel writes is not known to be written whole: it starts as zeros.
  const Pipeline first = test::native(buffers.device, "first_only", {{"out", Access::write}},
                                      [](const NativeCall& call) -> Result<void> {
                                        call.data<float>(0)[0] = 1;
                                        return {};
                                      });
  auto [graph, report] = optimised(buffers.device, [&](Encoder& encoder) -> Result<void> {
    const View t = buffers.temporary(kRows);
    NORITE_TRY(record_norms(encoder, buffers, a, b, 4));
    const std::array<Argument, 1> arguments = {t};
    NORITE_TRY(encoder.dispatch(first, arguments));
    return ops::copy(encoder, {.x = t, .y = c});
  });
  must(graph.replay());
  std::vector<float> expected(256, 0.0f);
  expected[0] = 1;
  EXPECT_EQ(test::download(c), expected);
}

// --- Size -------------------------------------------------------------------------------------

double seconds_of(const Device& device, const test::Recorder& record, size_t at_least) {
  const auto start = std::clock();  // of this process: others do not count
  auto [graph, report] = optimised(device, record);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(report.operations_before, 100'000);
  EXPECT_GE(graph.describe().operations.size(), at_least);
  return seconds;
}

#ifdef NORITE_TEST_SANITIZED
constexpr double kMostSeconds = 40;
#else
constexpr double kMostSeconds = 2;
#endif

TEST(LargeGraph, OfChainsTakesLinearTime) {
  Buffers buffers(test::null_device(), DType::bf16);
  const View x = buffers.fill(kRows), w = buffers.fill({64}), y = buffers.fill(kRows);
  EXPECT_LT(seconds_of(
                buffers.device,
                [&](Encoder& e) -> Result<void> {
                  for (int i = 0; i < 25'000; ++i) {
                    const View t = buffers.temporary(kRows), u = buffers.temporary(kRows),
                               v = buffers.temporary(kRows);
                    NORITE_TRY(ops::rms_norm(e, {.x = y, .weight = w, .y = t}));
                    NORITE_TRY(ops::silu(e, {.x = t, .y = u}));
                    NORITE_TRY(ops::mul(e, {.a = u, .b = x, .y = v}));
                    NORITE_TRY(ops::add(e, {.a = v, .b = x, .y = y}));
                  }
                  return {};
                },
                50'000),
            kMostSeconds);
}

TEST(LargeGraph, OfManySlicesOfOneBufferTakesLinearTime) {
  Buffers buffers(test::null_device(), DType::f32);
  const View in = buffers.fill({100'000, 8}), out = buffers.fill({100'000, 8});
  EXPECT_LT(seconds_of(
                buffers.device,
                [&](Encoder& e) -> Result<void> {
                  for (int64_t i = 0; i < 100'000; ++i) {
                    NORITE_TRY_ASSIGN(const View from, in.slice(0, i, i + 1));
                    NORITE_TRY_ASSIGN(const View to, out.slice(0, i, i + 1));
                    NORITE_TRY(ops::silu(e, {.x = from, .y = to}));
                  }
                  return {};
                },
                100'000),
            kMostSeconds);
}

}  // namespace
}  // namespace norite
