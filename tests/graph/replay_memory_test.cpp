// SPDX-License-Identifier: MIT
// A replay on the CPU takes no memory. Counts every `new` of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "cases/gemma_block.hpp"
#include "support.hpp"

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

void expect_no_memory(int threads, int64_t tokens) {
  for (const bool optimise : {false, true}) {
    const Device device = test::cpu_device(threads);
    const auto block = must(cases::GemmaBlock::make(device, DType::bf16, tokens));
    Graph graph = must(Graph::capture(device, [&](Encoder& e) { return block.record(e); }));
    if (optimise) must(graph.optimise());
    must(graph.replay());
    const long before = taken;
    for (int i = 0; i < 10; ++i) must(graph.replay());
    EXPECT_EQ(taken - before, 0);
    EXPECT_GT(before, 0);  // it does count
  }
}

TEST(ReplayMemory, IsNotTaken) { expect_no_memory(1, 1); }
// Independent chains are shared between threads.
TEST(ReplayMemory, IsNotTakenByThreads) { expect_no_memory(2, 32); }

}  // namespace
}  // namespace norite

#endif
