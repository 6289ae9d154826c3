// SPDX-License-Identifier: MIT
// Graphs on a real NVIDIA GPU. Skipped where there is none.
#include <gtest/gtest.h>

#include <array>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/stream_graph.hpp"
#include "cases/gemma_block.hpp"
#include "core/recording.hpp"
#include "host_values.hpp"

namespace norite {
namespace {

using cases::GemmaBlock;
using test::must;

class CudaGraphGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open("cuda");
    if (!opened) GTEST_SKIP() << opened.error().message;
    device_.emplace(*std::move(opened));
  }
  [[nodiscard]] const Device& device() const { return *device_; }

 private:
  std::optional<Device> device_;
};

TEST_F(CudaGraphGpuTest, replays_give_the_bits_of_eager_execution) {
  const auto eager = must(GemmaBlock::make(device(), DType::bf16));
  const auto captured = must(GemmaBlock::make(device(), DType::bf16));
  Graph graph = must(Graph::capture(device(), [&](Encoder& e) { return captured.record(e); }));
  for (int run = 0; run < 4; ++run) {
    test::run(device(), [&](Encoder& e) { return eager.record(e); });
    must(graph.replay());
    EXPECT_EQ(test::download_bytes(captured.hidden()), test::download_bytes(eager.hidden()));
  }
}

TEST_F(CudaGraphGpuTest, chains_and_rebinding) {
  const auto values = test::pattern(4096, 1);
  const Buffer x = test::upload(device(), DType::f32, {4096}, values);
  const Buffer other = test::upload(device(), DType::f32, {4096}, test::pattern(4096, 2));
  const Buffer y = must(device().empty(DType::f32, {4096}));
  const auto record = [&](Encoder& e, const View& from) -> Result<void> {
    NORITE_TRY_ASSIGN(const Buffer t, device().empty(DType::f32, {4096}));
    NORITE_TRY(ops::silu(e, {.x = from, .y = t}));
    return ops::add(e, {.a = t, .b = from, .y = y});
  };
  const auto eager = [&](const View& from) {
    test::run(device(), [&](Encoder& e) { return record(e, from); });
    return test::download_bytes(y);
  };
  Graph graph = must(Graph::capture(device(), [&](Encoder& e) { return record(e, x); }));
  EXPECT_EQ(must(graph.optimise()).operations_after, 1);
  const auto expected = eager(x), expected_other = eager(other);
  must(graph.replay());
  EXPECT_EQ(test::download_bytes(y), expected);
  must(graph.rebind(x, other));
  must(graph.replay());
  EXPECT_EQ(test::download_bytes(y), expected_other);
}

/// Chains of norms that begin with one input, and the sum of their ends.
struct Chains {
  static constexpr int64_t kChains = 6, kSteps = 4;

  Chains(const Device& on, const Shape& shape)
      : device(on),
        x(must(on.empty(DType::f32, shape))),
        y(must(on.empty(DType::f32, shape))),
        weights(test::upload(on, DType::f32, {kChains, shape[1]},
                             test::pattern(kChains * shape[1], 3))) {}

  Result<void> record(Encoder& e) const {
    std::array<View, kChains> ends;
    for (int64_t chain = 0; chain < kChains; ++chain) {
      NORITE_TRY_ASSIGN(const View row, View(weights).slice(0, chain, chain + 1));
      NORITE_TRY_ASSIGN(const View weight, row.reshape({weights.shape()[1]}));
      View from = x;
      for (int64_t step = 0; step < kSteps; ++step) {
        NORITE_TRY_ASSIGN(const Buffer to, device.empty(DType::f32, x.shape()));
        NORITE_TRY(ops::rms_norm(e, {.x = from, .weight = weight, .y = to}));
        from = to;
      }
      ends[static_cast<size_t>(chain)] = from;
    }
    NORITE_TRY(ops::add(e, {.a = ends[0], .b = ends[1], .y = y}));
    for (size_t i = 2; i < ends.size(); ++i) {
      NORITE_TRY(ops::add(e, {.a = y, .b = ends[i], .y = y}));
    }
    return {};
  }

  Device device;
  Buffer x, y, weights;
};

/// With other values each time: what a kernel reads too early is not what was there before.
void expect_replays_like_eager(const Device& device, const Shape& shape, int replays) {
  Chains eager(device, shape), captured(device, shape);
  Graph graph = must(Graph::capture(device, [&](Encoder& e) { return captured.record(e); }));
  must(graph.optimise({.fuse = false}));
  for (int64_t replay = 0; replay < test::as_many_on(device, replays, 4); ++replay) {
    const auto values = test::pattern(eager.x.count(), static_cast<uint32_t>(replay + 5));
    for (Chains* chains : {&eager, &captured}) {
      must(chains->x.write(std::as_bytes(std::span(values))));
    }
    test::run(device, [&](Encoder& e) { return eager.record(e); });
    must(graph.replay());
    ASSERT_EQ(test::download_bytes(captured.y), test::download_bytes(eager.y)) << replay;
  }
}

TEST_F(CudaGraphGpuTest, branches_that_join_give_the_bits_of_eager_execution) {
  expect_replays_like_eager(device(), {1, 4096}, 200);
  expect_replays_like_eager(device(), {test::as_many_on(device(), 512, 20), 4096}, 20);
}

// Rows that several groups share: their kernels are cooperative.
TEST_F(CudaGraphGpuTest, branches_of_long_rows_give_the_bits_of_eager_execution) {
  expect_replays_like_eager(device(), {1, 262144}, 100);
  expect_replays_like_eager(device(), {test::as_many_on(device(), 64, 9), 65536}, 20);
}

// Their groups find no sums of the run before, in any replay.
TEST_F(CudaGraphGpuTest, fused_norms_of_long_rows_give_the_bits_of_eager_execution) {
  for (const Shape& shape : {Shape{9, 131072}, Shape{9, 100003}, Shape{2, 600000}}) {
    SCOPED_TRACE(shape[1]);
    const int64_t count = shape[0] * shape[1];
    const auto filled = [&](uint32_t seed) {
      return test::upload(device(), DType::f32, shape, test::pattern(count, seed));
    };
    Buffer x = filled(1);
    const Buffer residual = filled(2), sum = filled(3), y = filled(4), z = filled(5);
    const auto record = [&](Encoder& e) -> Result<void> {
      NORITE_TRY_ASSIGN(const Buffer t, device().empty(DType::f32, shape));
      NORITE_TRY(ops::add(e, {.a = x, .b = residual, .y = sum}));
      NORITE_TRY(ops::rms_norm(e, {.x = sum, .y = y}));
      NORITE_TRY(ops::rms_norm(e, {.x = x, .y = t}));
      return ops::mul(e, {.a = t, .b = residual, .y = z});
    };
    Graph graph = must(Graph::capture(device(), record));
    EXPECT_EQ(must(graph.optimise()).fused.size(), 2u);
    for (uint32_t replay = 0; replay < 5; ++replay) {
      const auto values = test::pattern(count, replay + 7);
      must(x.write(std::as_bytes(std::span(values))));
      test::run(device(), record);
      const auto eager_y = test::download_bytes(y), eager_z = test::download_bytes(z);
      must(graph.replay());
      ASSERT_EQ(test::download_bytes(y), eager_y) << replay;
      ASSERT_EQ(test::download_bytes(z), eager_z) << replay;
    }
  }
}

// The fused kernel sums a head as the norm does, however lanes share it.
TEST_F(CudaGraphGpuTest, fused_norms_of_heads_give_the_bits_of_eager_execution) {
  for (const int64_t dim : {64, 96, 128, 256, 320, 512, 576, 1024}) {
    for (const ops::Pairing pairing :
         {ops::Pairing::half_dim, ops::Pairing::half_rope, ops::Pairing::interleaved}) {
      SCOPED_TRACE(testing::Message() << dim << ", " << static_cast<int>(pairing));
      const Shape shape = {37, 5, dim};
      const Buffer x = test::upload(device(), DType::f32, shape, test::pattern(37 * 5 * dim, 1));
      const Buffer weight = test::upload(device(), DType::f32, {dim}, test::pattern(dim, 2));
      const Buffer y = must(device().empty(DType::f32, shape));
      const auto record = [&](Encoder& e) -> Result<void> {
        NORITE_TRY_ASSIGN(const Buffer t, device().empty(DType::f32, shape));
        NORITE_TRY(ops::rms_norm(e, {.x = x, .weight = weight, .y = t}));
        return ops::rope(
            e, {.x = t, .y = y, .angles = {}, .pairing = pairing, .half_rope_dim = dim / 4});
      };
      Graph graph = must(Graph::capture(device(), record));
      EXPECT_EQ(must(graph.optimise()).fused.size(), 1u);
      test::run(device(), record);
      const auto eager = test::download_bytes(y);
      must(graph.replay());
      ASSERT_EQ(test::download_bytes(y), eager);
    }
  }
}

// Otherwise kernels would be launched one by one, with the same results.
TEST_F(CudaGraphGpuTest, branches_are_captured) {
  for (const Shape& shape : {Shape{1, 4096}, Shape{1, 262144}}) {
    const Chains chains(device(), shape);
    const auto session = std::make_shared<core::CaptureSession>();
    Encoder encoder = core::Recording::begin(device(), session);
    must(chains.record(encoder));
    core::CommandList list{.commands = must(core::Recording::take(encoder)), .reordered = true};
    const auto context = must(cuda::Context::retain(must(cuda::driver()), 0, "cuda:0"));
    const cuda::Current current(*context);
    must(must(cuda::StreamGraph::make(context))->become(list));
  }
}

}  // namespace
}  // namespace norite
