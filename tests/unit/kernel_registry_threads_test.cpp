// SPDX-License-Identifier: MIT
#include <atomic>
#include <barrier>
#include <chrono>
#include <set>
#include <thread>

#include "core/backend.hpp"
#include "unit/support.hpp"

namespace norite {
namespace {

using test::must;

constexpr int kThreads = 16;

// Calls body(thread) on 16 threads that start together.
template <class Body>
void together(const Body& body) {
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      body(thread);
    });
  }
}

// A device whose compiler is slow enough to be asked again while it works.
class SlowCompiler final : public core::Backend {
 public:
  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<core::Storage>> allocate(int64_t) override { return refused(); }
  Result<void> write(core::Storage&, int64_t, std::span<const std::byte>) override {
    return refused();
  }
  Result<void> read(const core::Storage&, int64_t, std::span<std::byte>) override {
    return refused();
  }
  Result<void> fill_zero(core::Storage&) override { return refused(); }
  NativeFunction native_builtin(std::string_view) const override { return {}; }
  bool runs_native() const noexcept override { return false; }
  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource& source,
                                                             const Specialisation&) override {
    ++compilations;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (source.text == "broken") return fail(Code::compile_failed, "broken", "the log");
    return std::make_shared<const core::PipelineState>(shared_from_this(), source.name,
                                                       std::vector<Parameter>());
  }
  Result<void> submit(core::CommandList, std::shared_ptr<core::Completion>) override {
    return refused();
  }
  void wait_idle() override {}

  std::atomic<int> compilations = 0;

 private:
  static tl::unexpected<Error> refused() { return fail(Code::unsupported, "a compiler only"); }

  DeviceInfo info_ = {.id = "slow"};
};

class KernelRegistryThreadsTest : public ::testing::Test {
 protected:
  std::shared_ptr<SlowCompiler> compiler_ = std::make_shared<SlowCompiler>();
  KernelRegistry registry_{compiler_};
};

TEST_F(KernelRegistryThreadsTest, a_kernel_that_all_ask_for_is_compiled_once) {
  must(registry_.register_source("shared", "text"));
  std::array<const core::PipelineState*, kThreads> states = {};
  together([&](int thread) {
    states[thread] = must(registry_.get_pipeline({.name = "shared"})).state();
  });
  EXPECT_EQ(compiler_->compilations, 1);
  EXPECT_EQ(registry_.compiled_count(), 1);
  EXPECT_NE(states[0], nullptr);
  EXPECT_EQ(std::set(states.begin(), states.end()).size(), 1U);
}

TEST_F(KernelRegistryThreadsTest, a_failure_is_told_to_all_who_asked) {
  must(registry_.register_source("shared", "broken"));
  std::atomic<int> told = 0;
  together([&](int) {
    const auto result = registry_.get_pipeline({.name = "shared"});
    if (!result && result.error().code == Code::compile_failed && result.error().log == "the log") {
      ++told;
    }
  });
  EXPECT_EQ(told, kThreads);
  EXPECT_EQ(compiler_->compilations, 1);
}

TEST_F(KernelRegistryThreadsTest, different_kernels_compile_side_by_side) {
  must(registry_.register_source("shared", "text"));
  const auto start = std::chrono::steady_clock::now();
  together([&](int thread) {
    must(registry_.get_pipeline(
        {.name = "shared", .specialisation = {{"N", std::to_string(thread)}}}));
  });
  EXPECT_EQ(compiler_->compilations, kThreads);
  // One after another they would sleep 16 times 50 ms.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(600));
}

TEST_F(KernelRegistryThreadsTest, of_many_who_register_one_name_one_succeeds) {
  std::atomic<int> succeeded = 0;
  together([&](int) { succeeded += registry_.register_source("shared", "text") ? 1 : 0; });
  EXPECT_EQ(succeeded, 1);
}

TEST_F(KernelRegistryThreadsTest, registering_while_others_look_is_safe) {
  together([&](int thread) {
    for (int i = 0; i < 50; ++i) {
      const std::string name = "kernel" + std::to_string(thread * 50 + i);
      must(registry_.register_source(name, "text"));
      EXPECT_TRUE(registry_.contains(name));
      EXPECT_FALSE(registry_.names().empty());
    }
  });
  EXPECT_EQ(registry_.names().size(), 50U * kThreads);
}

TEST_F(KernelRegistryThreadsTest, native_kernels_are_refused_where_no_host_code_runs) {
  test::expect_error(
      registry_.register_native({"host", {}, [](const NativeCall&) -> Result<void> { return {}; }}),
      Code::unsupported, {"host", "slow"});
}

}  // namespace
}  // namespace norite
