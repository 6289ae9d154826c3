// SPDX-License-Identifier: MIT
// Graphs on a real NVIDIA GPU. Skipped where there is none.
#include <gtest/gtest.h>

#include "cases/gemma_block.hpp"
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

}  // namespace
}  // namespace norite
