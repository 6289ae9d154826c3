// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "support.hpp"
#include "unit/fake_backend.hpp"
#include "unit/together.hpp"

namespace norite {
namespace {

using test::kThreads;
using test::must;
using test::together;

// A device whose compiler is slow enough to be asked again while it works.
class SlowCompiler final : public test::FakeBackend {
 public:
  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource& source,
                                                             const KernelId&) override {
    ++compilations;
    for (int now = ++running, most = most_at_once; now > most;) {
      if (most_at_once.compare_exchange_weak(most, now)) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    --running;
    if (source.text.text == "broken") return fail(Code::compile_failed, "broken", "the log");
    return std::make_shared<const core::PipelineState>(shared_from_this(), source.name,
                                                       std::vector<Parameter>());
  }
  std::atomic<int> compilations = 0;
  std::atomic<int> running = 0;
  std::atomic<int> most_at_once = 0;
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
  together([&](int thread) {
    must(registry_.get_pipeline(
        {.name = "shared", .specialisation = {{"N", std::to_string(thread)}}}));
  });
  EXPECT_EQ(compiler_->compilations, kThreads);
  EXPECT_GT(compiler_->most_at_once, 1);
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
      Code::unsupported, {"host", "fake"});
}

}  // namespace
}  // namespace norite
