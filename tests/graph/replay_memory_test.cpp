// SPDX-License-Identifier: MIT
// A replay on the CPU takes no memory. Counts every `new` of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "cases/gemma_block.hpp"
#include "graph/graph_support.hpp"

#ifndef NORITE_TEST_SANITIZED  // which have a `new` of their own

namespace {

std::atomic<long> taken = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++taken;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace norite {
namespace {

using test::must;

void expect_no_memory(const Device& device, const test::Recorder& record) {
  for (const bool optimise : {false, true}) {
    Graph graph = must(Graph::capture(device, record));
    if (optimise) must(graph.optimise());
    must(graph.replay());
    const long before = taken;
    for (int i = 0; i < 10; ++i) must(graph.replay());
    EXPECT_EQ(taken - before, 0);
    EXPECT_GT(before, 0);  // it does count
  }
}

void expect_block_takes_none(int threads, int64_t tokens) {
  const Device device = test::cpu_device(threads);
  const auto block = must(cases::GemmaBlock::make(device, DType::bf16, tokens));
  expect_no_memory(device, [&](Encoder& e) { return block.record(e); });
}

TEST(ReplayMemory, IsNotTaken) { expect_block_takes_none(1, 1); }
// Independent chains are shared between threads.
TEST(ReplayMemory, IsNotTakenByThreads) { expect_block_takes_none(2, 32); }

TEST(ReplayMemory, IsNotTakenByGradients) {
  const Device device = test::cpu_device(2);
  test::Buffers buffers(device, DType::f32);
  const Shape rows = {64, 3, 128}, row = {128};
  const View x = buffers.fill(rows), w = buffers.fill(row), dy = buffers.fill(rows);
  const View dx = buffers.temporary(rows), dw = buffers.temporary(row);
  expect_no_memory(device, [&](Encoder& e) -> Result<void> {
    NORITE_TRY(ops::rms_norm_backward(e, {.x = x, .weight = w, .dy = dy, .dx = dx}));
    NORITE_TRY(ops::rms_norm_backward(e, {.x = x, .weight = w, .dy = dy, .dx = dx, .dw = dw}));
    return ops::fused_head_norm_rope_backward(
        e, {.x = x, .weight = w, .dy = dy, .dx = dx, .dw = dw});
  });
}

}  // namespace
}  // namespace norite

#endif
