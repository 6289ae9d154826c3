// SPDX-License-Identifier: MIT
// Random operations on random views of few buffers, overlapping ones included: eager, captured,
// optimised and replayed graphs leave the same bytes everywhere that anyone can look, and values
// that lie as near to those of float64 as the roundings of the separate operations allow.
#include <gtest/gtest.h>
// RapidCheck's glue wants GoogleTest first.
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cases/values.hpp"
#include "host_values.hpp"
#include "prop/graph_reference.hpp"

namespace norite {
namespace {

using test::must;
using test::Operation;

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
  Operation operation = Operation::add;
  Place a, b, out;
  bool follows = false;  // a is what the step before wrote
  bool fresh = false;    // out is memory that nobody else writes
  bool fence = false;
};

std::ostream& operator<<(std::ostream& stream, const Place& place) {
  return stream << place.buffer << '@' << place.row;
}

std::ostream& operator<<(std::ostream& stream, const Step& step) {
  constexpr const char* kNames[] = {"add",  "mul",      "scale",         "silu", "gelu_mul",
                                    "norm", "norm_mul", "norm_backward", "rope"};
  stream << (step.fence ? "fence; " : "");
  (step.fresh ? stream << "fresh" : stream << step.out)
      << " = " << kNames[static_cast<int>(step.operation)] << '(';
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
      rc::gen::set(&Step::operation,
                   rc::gen::cast<Operation>(rc::gen::inRange(0, test::kOperations))),
      rc::gen::set(&Step::a, any_place()), rc::gen::set(&Step::b, any_place()),
      rc::gen::set(&Step::out, any_place()),
      rc::gen::set(&Step::follows, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Step::fresh, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Step::fence, rc::gen::weightedElement<bool>({{15, false}, {1, true}})));
}

/// A step that was not left out.
struct Done {
  Operation operation;
  Place a, b, out;
};

class Problem {
 public:
  Problem(const Device& device, DType dtype) : device_(device), dtype_(dtype) {
    for (int i = 0; i < kShared; ++i) {
      shared_.push_back(test::upload(device, dtype, {kBufferRows, kDim},
                                     test::pattern(kBufferRows * kDim, static_cast<uint32_t>(i))));
    }
  }

  /// Operations that refuse their operands are left out, by the same rules every time.
  Result<void> record(Encoder& e, const std::vector<Step>& steps,
                      std::vector<Done>* done = nullptr) const {
    std::vector<Buffer> buffers = shared_;
    const auto add_buffer = [&]() -> Result<void> {
      NORITE_TRY_ASSIGN(Buffer buffer, device_.empty(dtype_, {kBufferRows, kDim}));
      buffers.push_back(std::move(buffer));
      return {};
    };
    // Every row is a head, of one token after the other.
    const auto view = [&](const Place& place) {
      const View whole = buffers[static_cast<size_t>(place.buffer)];
      return must(must(whole.slice(0, place.row, place.row + kRows)).reshape({kRows, 1, kDim}));
    };
    while (buffers.size() < kBuffers) NORITE_TRY(add_buffer());
    Place last;
    for (const Step& step : steps) {
      if (step.fence) NORITE_TRY(e.fence());
      const Place fresh{.buffer = static_cast<int>(buffers.size())};
      NORITE_TRY(add_buffer());
      const Place out = step.fresh ? fresh : step.out, a = step.follows ? last : step.a;
      if (!encode(e, step.operation, view(a), view(step.b), view(out))) continue;
      if (done != nullptr) done->push_back({step.operation, a, step.b, out});
      last = out;
    }
    return {};
  }

  [[nodiscard]] const std::vector<Buffer>& shared() const { return shared_; }
  [[nodiscard]] std::vector<std::vector<std::byte>> bytes() const {
    std::vector<std::vector<std::byte>> result;
    for (const Buffer& buffer : shared_) result.push_back(test::download_bytes(buffer));
    return result;
  }

 private:
  static Result<void> encode(Encoder& e, Operation operation, const View& a, const View& b,
                             const View& out) {
    switch (operation) {
      case Operation::add:
        return ops::add(e, {.a = a, .b = b, .y = out});
      case Operation::mul:
        return ops::mul(e, {.a = a, .b = b, .y = out});
      case Operation::scale:
        return ops::scale(e, {.x = a, .y = out, .factor = test::kScaleFactor});
      case Operation::silu:
        return ops::silu(e, {.x = a, .y = out});
      case Operation::gelu_mul:
        return ops::gelu_mul(e, {.a = a, .b = b, .y = out});
      case Operation::norm:
        return ops::rms_norm(e, {.x = a, .y = out, .eps = test::kEps});
      case Operation::norm_mul:
        return ops::rms_norm_mul(e, {.x = a, .scale = b, .y = out, .eps = test::kEps});
      case Operation::norm_backward:
        return ops::rms_norm_backward(e, {.x = a, .dy = b, .dx = out, .eps = test::kEps});
      case Operation::rope:
        return ops::rope(e, {.x = a, .y = out, .angles = {.theta = test::kTheta}});
    }
    return fail(Code::invalid_argument, "no such operation");
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

/// Runs in f32 with every NaN as the same one. Repeated squares overflow, and inf - inf is NaN: of
/// two NaNs a fused sum has the sign and payload of either, as the compiler ordered the operands.
Runs with_one_nan(Runs runs) {
  for (auto& buffers : runs) {
    for (std::vector<std::byte>& bytes : buffers) {
      for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
        if (std::isnan(cases::decode(DType::f32, &bytes[i]))) {
          std::fill_n(&bytes[i], sizeof(float), std::byte{0xff});
        }
      }
    }
  }
  return runs;
}

void check(const Device& device) {
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  // In f32 no fusion of these operations saves a rounding.
  const Runs eager = run_eagerly(device, DType::f32, steps);
  const Runs captured = run_replayed(device, DType::f32, steps, {});
  // Buffers made inside are new for each eager run, but carry over from replay to replay: the first
  // run is what both have in common.
  RC_ASSERT(captured[0] == eager[0]);
  GraphReport report;
  const Runs optimised = run_replayed(device, DType::f32, steps, GraphOptions{}, &report);
  RC_TAG(report.fused.empty() ? "nothing fused" : "fused");
  if (report.fused.empty()) {
    RC_ASSERT(optimised == captured);
  } else {
    RC_ASSERT(with_one_nan(optimised) == with_one_nan(captured));
  }
  // Where nothing is fused, the bits stay in every dtype.
  RC_ASSERT(run_replayed(device, DType::bf16, steps, GraphOptions{.fuse = false}) ==
            run_replayed(device, DType::bf16, steps, {}));
}

/// The buffers of a graph in float64.
class Model {
 public:
  explicit Model(const Problem& problem) {
    for (const Buffer& buffer : problem.shared()) {
      test::Rows& rows = buffers_.emplace_back();
      for (const float value : test::download(buffer)) rows.push_back({.value = double{value}});
    }
  }

  void run(const Done& done, DType dtype) {
    const test::Rows made =
        test::reference(done.operation, rows(done.a), rows(done.b), kDim, dtype);
    std::ranges::copy(made, buffer(done.out).begin() + done.out.row * kDim);
  }

  /// Fails where a value of a shared buffer is further away than it may be.
  void check(const std::vector<std::vector<std::byte>>& got, DType dtype) const {
    for (size_t i = 0; i < got.size(); ++i) {
      for (size_t j = 0; j < buffers_[i].size(); ++j) {
        const auto [expected, allowed] = buffers_[i][j];
        const double value =
            cases::decode(dtype, got[i].data() + j * static_cast<size_t>(size_of(dtype)));
        const bool near = std::abs(value - expected) <= allowed || std::isinf(allowed);
        if (!near) {
          RC_FAIL(fmt::format("{}: buffer {}, element {}: {}, expected {} within {}", name(dtype),
                              i, j, value, expected, allowed));
        }
      }
    }
  }

 private:
  test::Rows& buffer(const Place& place) {
    const auto index = static_cast<size_t>(place.buffer);
    if (index >= buffers_.size()) buffers_.resize(index + 1, test::Rows(kBufferRows * kDim));
    return buffers_[index];
  }
  test::Rows rows(const Place& place) {
    const auto first = buffer(place).begin() + place.row * kDim;
    return {first, first + kRows * kDim};
  }

  std::vector<test::Rows> buffers_;
};

/// Buffers made inside carry over from replay to replay, in the model as in the graph.
void check_values(const Device& device, DType dtype, const std::vector<Step>& steps) {
  const Problem problem(device, dtype);
  Model model(problem);
  std::vector<Done> done;
  must(Graph::capture(device, [&](Encoder& e) { return problem.record(e, steps, &done); }));
  const Runs captured = run_replayed(device, dtype, steps, {});
  const Runs optimised = run_replayed(device, dtype, steps, GraphOptions{});
  for (size_t run = 0; run < captured.size(); ++run) {
    for (const Done& one : done) model.run(one, dtype);
    model.check(captured[run], dtype);
    model.check(optimised[run], dtype);
  }
}

const Device& cpu() {
  static const Device device = must(Device::open("cpu", {.threads = 2}));
  return device;
}

RC_GTEST_PROP(Graphs, KeepTheBitsOfEagerExecution, ()) { check(cpu()); }

RC_GTEST_PROP(Graphs, StayNearFloat64, ()) {
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) check_values(cpu(), dtype, steps);
}

}  // namespace
}  // namespace norite
