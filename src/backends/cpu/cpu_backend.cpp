// SPDX-License-Identifier: MIT
#include "backends/cpu/cpu_backend.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <optional>

#include "backends/cpu/executor.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/memory.hpp"
#include "backends/cpu/msl/text_kernel.hpp"
#include "backends/cpu/processor.hpp"
#include "backends/cpu/queue.hpp"
#include "core/env.hpp"

namespace norite::cpu {

namespace {

struct KernelRow {
  std::string_view name;
  KernelFunction (*select)(const Processor&);
};

constexpr std::array kKernels = {
    KernelRow{"rms_norm", rms_norm},
    KernelRow{"rms_norm_backward", rms_norm_backward},
    KernelRow{"sum_partials", sum_partials},
    KernelRow{"fused_head_norm_rope", fused_head_norm_rope},
    KernelRow{"fused_head_norm_rope_backward", fused_head_norm_rope_backward},
    KernelRow{"elementwise", elementwise},
    KernelRow{"flash_attn_train_bwd_compute_d", flash_attn_train_bwd_compute_d},
};

DeviceInfo describe(int threads, const SimdLevel& level) {
  DeviceInfo info;
  info.id = "cpu";
  info.backend = "cpu";
  info.name = processor_name();
  info.details = fmt::format("{}, {} thread{}", level.name, threads, threads == 1 ? "" : "s");
  info.memory_bytes = memory_bytes();
  info.threads = threads;
  for (const SimdLevel& known : simd_levels()) info.cpu_targets.push_back(known.name);
  info.limits = {.max_buffer_bytes = info.memory_bytes,
                 .max_threads_per_group = 1024,
                 .max_group_memory_bytes = 32 * 1024};
  return info;
}

class CpuBackend final : public core::Backend {
 public:
  CpuBackend(int threads, const Processor& processor, const DeviceOptions& options)
      : info_(describe(threads, processor.level)),
        processor_(processor),
        options_(options),
        executor_(threads) {}

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }

  Result<std::shared_ptr<core::Storage>> allocate(int64_t bytes) override {
    return options_.guard_buffers ? allocate_guarded(shared_from_this(), bytes)
                                  : cpu::allocate(shared_from_this(), bytes);
  }
  Result<std::shared_ptr<core::Storage>> wrap(uintptr_t address, int64_t bytes,
                                              std::shared_ptr<void> owner) override {
    return cpu::wrap(shared_from_this(), address, bytes, std::move(owner));
  }
  Result<void> write(core::Storage& target, int64_t offset,
                     std::span<const std::byte> source) override {
    wait_idle();
    std::copy(source.begin(), source.end(), target.host_data() + offset);
    return {};
  }
  Result<void> read(const core::Storage& source, int64_t offset,
                    std::span<std::byte> target) override {
    wait_idle();
    std::copy_n(source.host_data() + offset, target.size(), target.begin());
    return {};
  }
  Result<void> fill_zero(core::Storage& target) override {
    std::memset(target.host_data(), 0, static_cast<size_t>(target.size_bytes()));
    return {};
  }

  [[nodiscard]] NativeFunction native_builtin(std::string_view name) const override {
    if (options_.builtins == BuiltinForm::text) return {};
    for (const KernelRow& row : kKernels) {
      if (row.name == name) return row.select(processor_);
    }
    return {};
  }
  [[nodiscard]] bool runs_native() const noexcept override { return true; }

  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource& source,
                                                             const KernelId& id) override {
    NORITE_TRY_ASSIGN(const core::ObjectCache* const cache, object_cache());
    return msl::compile_text(shared_from_this(), *cache, source, id, options_);
  }

  [[nodiscard]] int64_t built_kernels() const noexcept override {
    const std::scoped_lock lock(cache_mutex_);
    return cache_ ? cache_->built() : 0;
  }

  Result<void> submit(core::CommandList list,
                      std::shared_ptr<core::Completion> completion) override {
    // std::function wants a copyable job, so the list travels in a shared_ptr.
    auto shared = std::make_shared<core::CommandList>(std::move(list));
    queue_.post(
        [self = shared_from_this(), this, shared, completion = std::move(completion)]() mutable {
          const auto until_the_end = std::move(self);
          auto outcome = executor_.run(*shared);
          shared->commands.clear();  // buffers go back before anyone hears of the end
          completion->complete(std::move(outcome.result), std::move(outcome.timings));
        });
    return {};
  }
  Result<void> submit_and_wait(core::CommandList list,
                               std::shared_ptr<core::Completion> completion) override {
    NORITE_TRY(check_outside("submit_and_wait"));
    queue_.run([&] {
      auto outcome = executor_.run(list);
      list.commands.clear();
      completion->complete(std::move(outcome.result), std::move(outcome.timings));
    });
    return completion->wait();
  }
  // Takes no memory of its own, except for the tasks of a new list.
  Result<void> replay(const core::CommandList& list, core::ReplayState& state) override {
    NORITE_TRY(check_outside("replay"));
    TaskGraph* const tasks = prepare(list, state);
    Result<void> result;
    const auto run = [&] {
      result = tasks != nullptr ? executor_.run(list.commands, *tasks) : executor_.run(list).result;
    };
    queue_.run(std::ref(run));
    return result;
  }
  void wait_idle() override {
    if (!running_here()) queue_.run([] {});
  }

 private:
  // The tasks of a list; nullptr where it runs in its own order, for want of memory if need be.
  // What is rebound waits for no more than before, so that they stay.
  [[nodiscard]] TaskGraph* prepare(const core::CommandList& list, core::ReplayState& state) const {
    if (!list.reordered || executor_.threads() == 1) return nullptr;
    try {
      if (!state.prepared) state.prepared = std::make_shared<TaskGraph>(list.commands);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    return static_cast<TaskGraph*>(state.prepared.get());
  }

  [[nodiscard]] Result<void> check_outside(std::string_view call) const {
    if (!running_here()) return {};
    return fail(Code::failed_precondition,
                fmt::format("cpu: {} from inside a kernel of the same device cannot end", call));
  }
  // Inside a kernel or the clean-up after it, waiting for the queue would never end.
  [[nodiscard]] bool running_here() const noexcept {
    return queue_.running_here() || executor_.running_here();
  }

  // Opened when the first kernel text is compiled: most programs never do.
  Result<const core::ObjectCache*> object_cache() {
    const std::scoped_lock lock(cache_mutex_);
    if (!cache_) {
      NORITE_TRY_ASSIGN(auto opened, core::ObjectCache::open());
      cache_.emplace(std::move(opened));
    }
    return &*cache_;
  }

  DeviceInfo info_;
  Processor processor_;
  DeviceOptions options_;
  mutable std::mutex cache_mutex_;
  std::optional<core::ObjectCache> cache_;
  Executor executor_;
  Queue queue_;
};

// Option, else environment, else every core.
Result<int> choose_threads(const DeviceOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return fail(
        Code::invalid_argument,
        fmt::format("cpu: {} threads, expected 1 to 1024, or 0 for the default", options.threads));
  }
  if (options.threads > 0) return options.threads;
  NORITE_TRY_ASSIGN(const auto wanted, core::env::num_threads());
  return wanted.value_or(oneapi::tbb::info::default_concurrency());
}

Result<SimdLevel> choose_level(const DeviceOptions& options) {
  return find_simd_level(options.cpu_target.empty() ? core::env::cpu_target().value_or("")
                                                    : options.cpu_target);
}

// Option, else environment, else what the system says, else what processors with AVX-512 have at
// least.
Result<int64_t> choose_l1_bytes(const DeviceOptions& options) {
  constexpr int kLeastKib = 32;
  if (options.cpu_l1_kib < 0 || options.cpu_l1_kib > core::env::kMostL1Kib) {
    return fail(Code::invalid_argument,
                fmt::format("cpu: an L1 of {} KiB, expected 1 to {}, or 0 for the processor's own",
                            options.cpu_l1_kib, core::env::kMostL1Kib));
  }
  std::optional<int> kib;
  if (options.cpu_l1_kib > 0) {
    kib = options.cpu_l1_kib;
  } else {
    NORITE_TRY_ASSIGN(kib, core::env::cpu_l1_kib());
  }
  return int64_t{kib ? *kib : reported_l1_kib().value_or(kLeastKib)} << 10;
}

Result<void> check_time_limit(double seconds) {
  constexpr double kMost = 1e6;
  if (seconds >= 0 && seconds <= kMost) return {};  // no NaN either
  return fail(Code::invalid_argument,
              fmt::format("cpu: a time limit of {} s for kernels, expected up to {}, 0 for none",
                          seconds, kMost));
}

}  // namespace

std::vector<DeviceInfo> list() {
  const int threads = choose_threads({}).value_or(oneapi::tbb::info::default_concurrency());
  return {describe(threads, choose_level({}).value_or(simd_levels().front()))};
}

Result<std::shared_ptr<core::Backend>> open(int, const DeviceOptions& options) {
  NORITE_TRY(check_time_limit(options.kernel_time_limit_seconds));
  NORITE_TRY_ASSIGN(const int threads, choose_threads(options));
  NORITE_TRY_ASSIGN(const SimdLevel level, choose_level(options));
  NORITE_TRY_ASSIGN(const int64_t l1, choose_l1_bytes(options));
  return std::make_shared<CpuBackend>(threads, Processor{level, l1}, options);
}

}  // namespace norite::cpu
