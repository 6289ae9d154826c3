// SPDX-License-Identifier: MIT
// What a capture records, and what a replay does with it.
#include <gtest/gtest.h>

#include <thread>

#include "host_values.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::expect_refused;
using test::must;

constexpr int64_t kDim = 64;

struct Block {
  explicit Block(const Device& on) : device(on) {
    x = test::upload(device, DType::bf16, {2, kDim}, test::pattern(2 * kDim, 1));
    residual = test::upload(device, DType::bf16, {2, kDim}, test::pattern(2 * kDim, 2));
    weight = test::upload(device, DType::bf16, {kDim}, test::pattern(kDim, 3));
    y = must(device.empty(DType::bf16, {2, kDim}));
    z = must(device.empty(DType::bf16, {2, kDim}));
  }

  [[nodiscard]] Result<void> record(Encoder& e) const {
    NORITE_TRY(ops::residual_rms_norm(
        e, {.x = x, .residual = residual, .weight = weight, .sum = residual, .y = y}));
    NORITE_TRY(ops::silu_mul(e, {.a = y, .b = x, .y = z}));
    return ops::gelu(e, {.x = z, .y = z});
  }
  [[nodiscard]] Graph capture() const {
    return must(Graph::capture(device, [this](Encoder& e) { return record(e); }));
  }

  Device device;
  Buffer x, residual, weight, y, z;
};

TEST(Capture, RunsNothing) {
  const Block block(test::cpu_device());
  const Graph graph = block.capture();
  EXPECT_EQ(test::download(block.z), std::vector<float>(2 * kDim, 0.0f));
  EXPECT_EQ(graph.describe().operations.size(), 3u);
}

TEST(Replay, GivesTheBitsOfEagerExecution) {
  for (const auto form : {BuiltinForm::native, BuiltinForm::text}) {
    const Device device = must(Device::open("cpu", {.threads = 2, .builtins = form}));
    const Block eager(device), captured(device);
    Graph graph = captured.capture();
    for (int run = 0; run < 3; ++run) {  // the residual grows from run to run
      test::run(device, [&](Encoder& e) { return eager.record(e); });
      must(graph.replay());
      EXPECT_EQ(test::download_bytes(captured.z), test::download_bytes(eager.z));
      EXPECT_EQ(test::download_bytes(captured.residual), test::download_bytes(eager.residual));
    }
  }
}

TEST(Replay, ReadsWhatBuffersHoldNow) {
  Block block(test::cpu_device());
  Graph graph = block.capture();
  must(graph.replay());
  const auto first = test::download(block.z);
  const std::vector<uint16_t> ones(2 * kDim, 0x3F80);
  must(block.x.write(std::as_bytes(std::span(ones))));
  must(graph.replay());
  EXPECT_NE(test::download(block.z), first);
}

TEST(Replay, KeepsBuffersThatTheirOwnersDropped) {
  const Device device = test::cpu_device();
  Buffer y = must(device.empty(DType::f32, {4}));
  const auto graph = [&] {
    const Buffer x = test::upload(device, DType::f32, {4}, {1, 2, 3, 4});
    return must(Graph::capture(
        device, [&](Encoder& e) { return ops::scale(e, {.x = x, .y = y, .factor = 2}); }));
  };
  Graph doubling = graph();
  must(doubling.replay());
  EXPECT_EQ(test::download(y), (std::vector<float>{2, 4, 6, 8}));
}

TEST(Replay, OfNothingIsNothing) {
  Graph graph =
      must(Graph::capture(test::cpu_device(), [](Encoder&) -> Result<void> { return {}; }));
  must(graph.optimise());
  must(graph.replay());
  EXPECT_TRUE(graph.describe().operations.empty());
}

TEST(Replay, GivesTheErrorOfAKernel) {
  const Device device = test::cpu_device();
  const Pipeline failing = test::native(
      device, "failing", {}, [](const NativeCall&) { return fail(Code::execution_failed, "no"); });
  Graph graph = must(
      Graph::capture(device, [&](Encoder& e) { return e.dispatch(failing, {}, {}, "my step"); }));
  expect_error(graph.replay(), Code::execution_failed, {"my step", "no"});
  expect_error(graph.replay(), Code::execution_failed, {"my step"});
}

TEST(Replay, OfAClosedDeviceIsRefused) {
  const Block block(test::cpu_device());
  Graph graph = block.capture();
  block.device.close();
  expect_error(graph.replay(), Code::failed_precondition, {"graph replay", "closed"});
}

TEST(Capture, OfAFailingOperationLeavesNothing) {
  const Block block(test::cpu_device());
  const auto count = block.y.storage().use_count();
  const auto graph = Graph::capture(block.device, [&](Encoder& e) -> Result<void> {
    NORITE_TRY(ops::silu(e, {.x = block.x, .y = block.y}));
    return ops::add(e, {.a = block.x, .b = block.weight, .y = block.y});
  });
  expect_refused(graph, {"add", "shape"});
  EXPECT_EQ(block.y.storage().use_count(), count);
  (void)block.capture();  // and the next one begins afresh
}

TEST(Capture, ThatThrowsEnds) {
  const Block block(test::cpu_device());
  EXPECT_THROW((void)Graph::capture(
                   block.device, [](Encoder&) -> Result<void> { throw std::runtime_error("x"); }),
               std::runtime_error);
  (void)block.capture();
}

TEST(Capture, DoesNotNest) {
  const Block block(test::cpu_device());
  const auto graph = Graph::capture(block.device, [&](Encoder&) -> Result<void> {
    NORITE_TRY(Graph::capture(block.device, [&](Encoder& e) { return block.record(e); }));
    return {};
  });
  expect_error(graph, Code::failed_precondition, {"capture", "another capture"});
}

TEST(Capture, CannotBeSubmitted) {
  const Block block(test::cpu_device());
  const auto graph = Graph::capture(block.device, [&](Encoder& e) -> Result<void> {
    NORITE_TRY(block.record(e));
    expect_error(e.submit(), Code::failed_precondition, {"submit", "captures"});
    return e.submit_and_wait();
  });
  expect_error(graph, Code::failed_precondition, {"submit_and_wait", "captures"});
}

TEST(Capture, BelongsToItsThread) {
  const Block block(test::cpu_device());
  (void)must(Graph::capture(block.device, [&](Encoder& e) -> Result<void> {
    Result<void> other;
    std::thread([&] { other = block.record(e); }).join();
    expect_error(other, Code::failed_precondition, {"thread"});
    return {};
  }));
}

TEST(Capture, EndsWithItsFunction) {
  const Block block(test::cpu_device());
  std::optional<Encoder> kept;
  const auto graph = Graph::capture(block.device, [&](Encoder& e) -> Result<void> {
    kept = std::move(e);
    return {};
  });
  expect_error(graph, Code::failed_precondition, {"moved"});
  expect_error(block.record(*kept), Code::failed_precondition, {"has ended"});
}

TEST(Capture, NeedsAFunctionAndAnOpenDevice) {
  const Device device = test::cpu_device();
  expect_refused(Graph::capture(device, {}), {"no function"});
  device.close();
  expect_error(Graph::capture(device, [](Encoder&) -> Result<void> { return {}; }),
               Code::failed_precondition, {"closed"});
}

TEST(Graph, IsUsedByOneThreadAtATime) {
  const Device device = test::cpu_device();
  Graph* used = nullptr;
  std::vector<Result<void>> inside;
  const Pipeline meddling =
      test::native(device, "meddling", {}, [&](const NativeCall&) -> Result<void> {
        inside.push_back(used->replay());
        inside.push_back(used->rebind({}, {}));
        if (auto report = used->optimise(); !report)
          inside.push_back(fail(report.error().code, report.error().message));
        return {};
      });
  Graph graph = must(Graph::capture(device, [&](Encoder& e) { return e.dispatch(meddling, {}); }));
  used = &graph;
  must(graph.replay());
  ASSERT_EQ(inside.size(), 3u);
  for (const auto& result : inside) {
    expect_error(result, Code::failed_precondition, {"another thread is using the graph"});
  }
}

TEST(Graph, IsOptimisedOnce) {
  Graph graph = Block(test::cpu_device()).capture();
  must(graph.optimise());
  expect_error(graph.optimise(), Code::failed_precondition, {"already"});
}

}  // namespace
}  // namespace norite
