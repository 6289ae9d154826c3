// SPDX-License-Identifier: MIT
// Random operations on random views of few buffers, overlapping ones included: eager, captured,
// optimised and replayed graphs leave the same bytes everywhere that anyone can look.
#include <gtest/gtest.h>
// RapidCheck's glue wants GoogleTest first.
#include <rapidcheck/gtest.h>

#include "host_values.hpp"

namespace norite {
namespace {

using test::must;

constexpr int64_t kRows = 3, kDim = 16;
constexpr int64_t kBufferRows = 6;  // views of three rows overlap in every way
constexpr int kShared = 3;          // buffers that are seen from outside
constexpr int kBuffers = 6;         // the others are made inside of the graph, and used again

/// Rows [row, row + 3) of a buffer.
struct Place {
  int buffer = 0;
  int64_t row = 0;
};

struct Step {
  int operation = 0;
  Place a, b, out;
  bool follows = false;  // a is what the step before wrote
  bool fresh = false;    // out is memory that nobody else writes
  bool fence = false;
};

std::ostream& operator<<(std::ostream& stream, const Place& place) {
  return stream << place.buffer << '@' << place.row;
}

std::ostream& operator<<(std::ostream& stream, const Step& step) {
  constexpr const char* kNames[] = {"add",      "mul",  "scale",    "silu",
                                    "gelu_mul", "norm", "norm_mul", "norm_backward"};
  stream << (step.fence ? "fence; " : "");
  (step.fresh ? stream << "fresh" : stream << step.out) << " = " << kNames[step.operation] << '(';
  (step.follows ? stream << "it" : stream << step.a) << ", " << step.b;
  return stream << ')';
}

rc::Gen<Place> any_place() {
  return rc::gen::build<Place>(
      rc::gen::set(&Place::buffer, rc::gen::inRange(0, kBuffers)),
      // Whole halves mostly, so that operations meet each other's results.
      rc::gen::set(&Place::row, rc::gen::weightedElement<int64_t>({{8, 0}, {2, 3}, {1, 1}})));
}

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::operation, rc::gen::inRange(0, 8)), rc::gen::set(&Step::a, any_place()),
      rc::gen::set(&Step::b, any_place()), rc::gen::set(&Step::out, any_place()),
      rc::gen::set(&Step::follows, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Step::fresh, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Step::fence, rc::gen::weightedElement<bool>({{15, false}, {1, true}})));
}

class Problem {
 public:
  Problem(const Device& device, DType dtype) : device_(device), dtype_(dtype) {
    for (int i = 0; i < kShared; ++i) {
      shared_.push_back(test::upload(device, dtype, {kBufferRows, kDim},
                                     test::pattern(kBufferRows * kDim, static_cast<uint32_t>(i))));
    }
  }

  /// Operations that refuse their operands are left out, by the same rules every time.
  Result<void> record(Encoder& e, const std::vector<Step>& steps) const {
    std::vector<Buffer> buffers = shared_;
    while (buffers.size() < kBuffers) {
      NORITE_TRY_ASSIGN(Buffer buffer, device_.empty(dtype_, {kBufferRows, kDim}));
      buffers.push_back(std::move(buffer));
    }
    View last = buffers[0];
    NORITE_TRY_ASSIGN(last, last.slice(0, 0, kRows));
    for (const Step& step : steps) {
      const auto view = [&](const Place& place) {
        return must(View(buffers[static_cast<size_t>(place.buffer)])
                        .slice(0, place.row, place.row + kRows));
      };
      if (step.fence) NORITE_TRY(e.fence());
      NORITE_TRY_ASSIGN(const Buffer fresh, device_.empty(dtype_, {kRows, kDim}));
      const View out = step.fresh ? View(fresh) : view(step.out);
      const View a = step.follows ? last : view(step.a);
      if (encode(e, step.operation, a, view(step.b), out)) last = out;
    }
    return {};
  }

  [[nodiscard]] std::vector<std::vector<std::byte>> bytes() const {
    std::vector<std::vector<std::byte>> result;
    for (const Buffer& buffer : shared_) result.push_back(test::download_bytes(buffer));
    return result;
  }

 private:
  static Result<void> encode(Encoder& e, int operation, const View& a, const View& b,
                             const View& out) {
    switch (operation) {
      case 0:
        return ops::add(e, {.a = a, .b = b, .y = out});
      case 1:
        return ops::mul(e, {.a = a, .b = b, .y = out});
      case 2:
        return ops::scale(e, {.x = a, .y = out, .factor = 0.75f});
      case 3:
        return ops::silu(e, {.x = a, .y = out});
      case 4:
        return ops::gelu_mul(e, {.a = a, .b = b, .y = out});
      case 5:
        return ops::rms_norm(e, {.x = a, .y = out});
      case 6:
        return ops::rms_norm_mul(e, {.x = a, .scale = b, .y = out});
      default:
        return ops::rms_norm_backward(e, {.x = a, .dy = b, .dx = out});
    }
  }

  Device device_;
  DType dtype_;
  std::vector<Buffer> shared_;
};

/// What every buffer holds after each of three runs.
using Runs = std::vector<std::vector<std::vector<std::byte>>>;

Runs run_eagerly(const Device& device, DType dtype, const std::vector<Step>& steps) {
  const Problem problem(device, dtype);
  Runs runs;
  for (int run = 0; run < 3; ++run) {
    test::run(device, [&](Encoder& e) { return problem.record(e, steps); });
    runs.push_back(problem.bytes());
  }
  return runs;
}

Runs run_replayed(const Device& device, DType dtype, const std::vector<Step>& steps,
                  std::optional<GraphOptions> options, GraphReport* report = nullptr) {
  const Problem problem(device, dtype);
  Graph graph = must(Graph::capture(device, [&](Encoder& e) { return problem.record(e, steps); }));
  if (options) {
    const GraphReport got = must(graph.optimise(*options));
    if (report != nullptr) *report = got;
  }
  Runs runs;
  for (int run = 0; run < 3; ++run) {
    must(graph.replay());
    runs.push_back(problem.bytes());
  }
  return runs;
}

/// Buffers made inside are new for each eager run, but carry over from replay to replay: the first
/// run is what both have in common.
void check_first_run(const Runs& got, const Runs& expected) { RC_ASSERT(got[0] == expected[0]); }

void check(const Device& device) {
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  // In f32 no fusion of these operations saves a rounding.
  const Runs eager = run_eagerly(device, DType::f32, steps);
  check_first_run(run_replayed(device, DType::f32, steps, {}), eager);
  GraphReport report;
  const Runs optimised = run_replayed(device, DType::f32, steps, GraphOptions{}, &report);
  RC_TAG(report.fused.empty() ? "nothing fused" : "fused");
  check_first_run(optimised, eager);
  // Later runs of the rewritten graph are those of the captured one.
  RC_ASSERT(optimised == run_replayed(device, DType::f32, steps, {}));
  // Where nothing is fused, the bits stay in every dtype.
  RC_ASSERT(run_replayed(device, DType::bf16, steps, GraphOptions{.fuse = false}) ==
            run_replayed(device, DType::bf16, steps, {}));
}

RC_GTEST_PROP(Graphs, KeepTheBitsOfEagerExecution, ()) {
  static const Device device = must(Device::open("cpu", {.threads = 2}));
  check(device);
}

}  // namespace
}  // namespace norite
