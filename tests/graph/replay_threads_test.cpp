// SPDX-License-Identifier: MIT
// Replays on several threads of the CPU: what overlaps, what must not, and what errors leave out.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "cases/gemma_block.hpp"
#include "graph/graph_support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;
using test::optimised;

/// Whether something comes true before patience ends.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

class ReplayThreadsTest : public ::testing::TestWithParam<int> {
 protected:
  using Action = std::function<Result<void>()>;

  View ints(int64_t count = 1) { return must(device.empty(DType::i32, {count})); }
  /// Records a kernel that calls `action`, and for the graph reads one view and writes another.
  Result<void> step(Encoder& encoder, const View& from, const View& to, Action action) {
    const std::string name = "step_" + std::to_string(++steps_);
    const Pipeline kernel = test::native(
        device, name, {{"from", Access::read}, {"to", Access::write}},
        [action = std::move(action)](const NativeCall&) -> Result<void> { return action(); });
    return encoder.dispatch(kernel, std::array<Argument, 2>{from, to});
  }
  static Result<void> nothing() { return {}; }

  Device device = test::cpu_device(GetParam());

 private:
  int steps_ = 0;
};

INSTANTIATE_TEST_SUITE_P(threads, ReplayThreadsTest, ::testing::Values(2, 3, 16),
                         ::testing::PrintToStringParamName());

// Between stages with a barrier this would wait for ever: the second stage follows the first.
TEST_P(ReplayThreadsTest, chains_go_on_while_others_are_at_their_beginning) {
  std::atomic<bool> second_began = false;
  const View a = ints(), b = ints(), c = ints(), d = ints(), e = ints(), f = ints();
  auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(step(encoder, a, b, [&]() -> Result<void> {
      if (comes_true([&] { return second_began.load(); })) return {};
      return fail(Code::internal, "the other chain's second step does not begin");
    }));
    NORITE_TRY(step(encoder, c, d, nothing));
    NORITE_TRY(step(encoder, d, e, [&]() -> Result<void> {
      second_began = true;
      return {};
    }));
    return step(encoder, e, f, nothing);
  });
  for (int i = 0; i < 20; ++i) {
    second_began = false;
    must(graph.replay());
  }
}

// In one another's memory, the chain that does not wait would come to wait for the one that does.
TEST_P(ReplayThreadsTest, intermediates_do_not_tie_chains_together) {
  std::atomic<bool> ended = false;
  const auto floats = [&] { return View(must(device.empty(DType::f32, {64}))); };
  const auto norms = [&](Encoder& encoder, View from, const View& y, int count) -> Result<void> {
    for (int i = 1; i <= count; ++i) {
      const View to = i < count ? floats() : y;
      NORITE_TRY(ops::rms_norm(encoder, {.x = from, .y = to}));
      from = to;
    }
    return {};
  };
  const View a = floats(), b = floats(), c = floats(), d = floats(), e = floats(), f = floats(),
             g = floats();
  auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(step(encoder, a, b, [&]() -> Result<void> {
      if (comes_true([&] { return ended.load(); })) return {};
      return fail(Code::internal, "the other chain does not end");
    }));
    NORITE_TRY(norms(encoder, b, c, 3));
    NORITE_TRY(step(encoder, d, e, nothing));
    NORITE_TRY(norms(encoder, e, f, 12));
    return step(encoder, f, g, [&]() -> Result<void> {
      ended = true;
      return {};
    });
  });
  EXPECT_GT(report.arena_bytes, 0);
  must(graph.replay());
}

TEST_P(ReplayThreadsTest, joins_wait_for_the_longest_chain) {
  std::atomic<int> done = 0;
  const View in = ints(), wide = ints(8), out = ints();
  auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
    for (int64_t chain = 0; chain < 8; ++chain) {
      const View to = must(wide.slice(0, chain, chain + 1));
      for (int64_t i = 0; i <= chain; ++i) {
        NORITE_TRY(step(encoder, in, to, [&]() -> Result<void> {
          ++done;
          return {};
        }));
      }
    }
    return step(encoder, wide, out, [&]() -> Result<void> {
      if (done.exchange(0) == 36) return {};
      return fail(Code::internal, "too early");
    });
  });
  for (int i = 0; i < 50; ++i) must(graph.replay());
}

TEST_P(ReplayThreadsTest, nothing_crosses_a_fence) {
  std::atomic<int> before = 0, behind = 0;
  std::vector<View> views;
  for (int i = 0; i < 12; ++i) views.push_back(ints());
  auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
    for (size_t i = 0; i < 6; i += 2) {
      NORITE_TRY(step(encoder, views[i], views[i + 1], [&]() -> Result<void> {
        if (behind > 0) return fail(Code::internal, "crossed");
        std::this_thread::yield();
        ++before;
        return {};
      }));
    }
    NORITE_TRY(encoder.fence());
    for (size_t i = 6; i < 12; i += 2) {
      NORITE_TRY(step(encoder, views[i], views[i + 1], [&]() -> Result<void> {
        ++behind;
        if (before != 3) return fail(Code::internal, "crossed");
        return {};
      }));
    }
    return {};
  });
  for (int i = 0; i < 50; ++i) {
    before = behind = 0;
    must(graph.replay());
    EXPECT_EQ(behind, 3);
  }
}

TEST_P(ReplayThreadsTest, what_waits_for_a_failure_does_not_run) {
  std::atomic<int> early = 0, late = 0;
  const View a = ints(), b = ints(), c = ints(), d = ints(), e = ints(), sum = ints();
  bool broken = true;
  const auto count = [](std::atomic<int>& runs) {
    return [&runs]() -> Result<void> {
      ++runs;
      return {};
    };
  };
  auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
    NORITE_TRY(step(encoder, a, b, count(early)));
    NORITE_TRY(step(encoder, d, e, count(early)));
    NORITE_TRY(step(encoder, b, c, [&]() -> Result<void> {  // step_3
      if (broken) throw std::runtime_error("boom");
      return {};
    }));
    NORITE_TRY(step(encoder, c, sum, count(late)));
    return step(encoder, sum, a, count(late));
  });
  for (int i = 0; i < 20; ++i) {
    early = late = 0;
    expect_error(graph.replay(), Code::execution_failed, {"step_3", "boom"});
    EXPECT_EQ(early, 2) << "what comes first in the graph has run";
    EXPECT_EQ(late, 0);
  }
  broken = false;
  must(graph.replay());
  EXPECT_EQ(late, 2);
}

TEST_P(ReplayThreadsTest, of_several_failures_the_first_in_the_graph_is_told) {
  const View in = ints();
  auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
    for (int chain = 0; chain < 8; ++chain) {
      const View middle = ints(), out = ints();
      NORITE_TRY(step(encoder, in, middle, [chain]() -> Result<void> {
        if (chain < 3) return {};
        return fail(Code::out_of_memory, "chain " + std::to_string(chain));
      }));
      NORITE_TRY(step(encoder, middle, out, nothing));
    }
    return {};
  });
  for (int i = 0; i < 50; ++i) expect_error(graph.replay(), Code::out_of_memory, {"chain 3"});
}

// --- Whatever the graph -----------------------------------------------------------------------

struct Range {
  size_t buffer;
  int64_t begin, end;
  [[nodiscard]] bool meets(const Range& other) const {
    return buffer == other.buffer && begin < other.end && other.begin < end;
  }
};

struct Step {
  Range from, to;
  bool fence = false;
  [[nodiscard]] bool conflicts(const Step& later) const {
    return to.meets(later.to) || to.meets(later.from) || from.meets(later.to);
  }
};

std::vector<Step> random_steps(std::mt19937& random) {
  const auto any_range = [&] {
    const auto begin = static_cast<int64_t>(random() % 5) * 4;
    return Range{random() % 6, begin, begin + 8};
  };
  std::vector<Step> steps(60);
  for (Step& step : steps) {
    step = {.from = any_range(), .to = any_range(), .fence = random() % 20 == 0};
  }
  return steps;
}

/// When a step ran, in ticks of one clock for all.
struct Span {
  std::atomic<int> begin = 0, end = 0;
};

TEST_P(ReplayThreadsTest, conflicts_and_fences_keep_their_order) {
  std::mt19937 random(11);
  std::atomic<int> clock = 0;
  std::vector<Span> spans(60);
  const Pipeline kernel =
      test::native(device, "add_to",
                   {{"from", Access::read}, {"to", Access::read_write}, {"step", Access::bytes}},
                   [&](const NativeCall& call) -> Result<void> {
                     Span& span = spans[call.constants<size_t>(2)];
                     span.begin = ++clock;
                     call.parallel_for(8, 2, [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         call.data<uint32_t>(1)[i] = call.data<uint32_t>(1)[i] * 31 + 1;
                       }
                     });
                     span.end = ++clock;
                     return {};
                   });
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<Step> steps = random_steps(random);
    std::vector<View> buffers;
    for (int i = 0; i < 6; ++i) buffers.push_back(ints(24));
    const auto view = [&](const Range& range) {
      return must(buffers[range.buffer].slice(0, range.begin, range.end));
    };
    auto [graph, report] = optimised(device, [&](Encoder& encoder) -> Result<void> {
      for (size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].fence) NORITE_TRY(encoder.fence());
        const std::array<Argument, 3> arguments = {view(steps[i].from), view(steps[i].to),
                                                   Argument::bytes(i)};
        NORITE_TRY(encoder.dispatch(kernel, arguments));
      }
      return {};
    });
    for (int replay = 0; replay < 3; ++replay) {
      must(graph.replay());
      for (size_t later = 0; later < steps.size(); ++later) {
        bool fenced = false;
        for (size_t earlier = later; earlier-- > 0;) {
          fenced = fenced || steps[earlier + 1].fence;
          if (!fenced && !steps[earlier].conflicts(steps[later])) continue;
          ASSERT_LT(spans[earlier].end, spans[later].begin)
              << "trial " << trial << ": " << earlier << ", " << later;
        }
      }
    }
  }
}

TEST_P(ReplayThreadsTest, bits_are_those_of_one_thread) {
  const auto run = [](const Device& on) {
    const auto block = must(cases::GemmaBlock::make(on, DType::bf16, 24));
    auto [graph, report] = optimised(on, [&](Encoder& e) { return block.record(e); });
    for (int i = 0; i < 3; ++i) must(graph.replay());
    return test::download_bytes(block.hidden());
  };
  EXPECT_EQ(run(device), run(test::cpu_device(1)));
}

}  // namespace
}  // namespace norite
