// SPDX-License-Identifier: MIT
#include "backends/cuda/cuda_backend.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/cuda/compile.hpp"
#include "backends/cuda/devices.hpp"
#include "backends/cuda/launch.hpp"
#include "backends/cuda/memory.hpp"
#include "backends/cuda/queue.hpp"
#include "backends/cuda/staging.hpp"
#include "backends/cuda/stream_graph.hpp"
#include "backends/cuda/text_kernel.hpp"

namespace norite::cuda {

namespace {

class CudaBackend final : public core::Backend {
 public:
  CudaBackend(Gpu gpu, std::shared_ptr<Context> context, std::shared_ptr<Stream> stream,
              std::shared_ptr<const Compiler> compiler)
      : gpu_(std::move(gpu)),
        context_(std::move(context)),
        stream_(std::move(stream)),
        compiler_(std::move(compiler)),
        staging_(stream_),
        queue_(stream_) {}
  // Nothing may be copying when the memory for copies goes.
  ~CudaBackend() override {
    const Current current(*context_);
    stream_->settle();
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return gpu_.info; }

  Result<std::shared_ptr<core::Storage>> allocate(int64_t bytes) override {
    NORITE_TRY(context_->usable());
    const Current current(*context_);
    return DeviceMemory::allocate(shared_from_this(), stream_, bytes, gpu_.has_pools);
  }
  Result<std::shared_ptr<core::Storage>> wrap(uintptr_t address, int64_t bytes,
                                              std::shared_ptr<void> owner) override {
    NORITE_TRY(context_->usable());
    const Current current(*context_);
    return DeviceMemory::wrap(shared_from_this(), stream_, bytes, address, std::move(owner));
  }
  [[nodiscard]] uintptr_t wrap_alignment() const noexcept override {
    return DeviceMemory::kAlignment;
  }
  [[nodiscard]] uintptr_t address_of(const core::Storage& storage) const noexcept override {
    return cuda::address_of(storage);
  }
  Result<void> write(core::Storage& target, int64_t offset,
                     std::span<const std::byte> source) override {
    NORITE_TRY(context_->usable());
    const Current current(*context_);
    return staging_.upload(cuda::address_of(target) + static_cast<CUdeviceptr>(offset), source);
  }
  Result<void> read(const core::Storage& source, int64_t offset,
                    std::span<std::byte> target) override {
    NORITE_TRY(context_->usable());
    const Current current(*context_);
    return staging_.download(target, cuda::address_of(source) + static_cast<CUdeviceptr>(offset));
  }
  Result<void> fill_zero(core::Storage& target) override {
    NORITE_TRY(context_->usable());
    const Current current(*context_);
    return context_->check(context_->driver().cuMemsetD8Async(
                               cuda::address_of(target), 0,
                               static_cast<size_t>(target.size_bytes()), stream_->handle()),
                           "clearing memory");
  }

  [[nodiscard]] NativeFunction native_builtin(std::string_view) const override { return {}; }
  [[nodiscard]] bool runs_native() const noexcept override { return false; }
  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource& source,
                                                             const KernelId& id) override {
    NORITE_TRY(context_->usable());
    return TextKernel::make(shared_from_this(), context_, compiler_, source, id);
  }

  [[nodiscard]] Result<void> check_grid(const Grid& grid) const override {
    return launch_shape(grid).map([](const LaunchShape&) {});
  }
  [[nodiscard]] int64_t built_kernels() const noexcept override { return compiler_->cache.built(); }

  Result<void> submit(core::CommandList list,
                      std::shared_ptr<core::Completion> completion) override {
    NORITE_TRY(context_->usable());
    queue_.submit(std::move(list), std::move(completion));
    return {};
  }
  Result<void> submit_and_wait(core::CommandList list,
                               std::shared_ptr<core::Completion> completion) override {
    NORITE_TRY(context_->usable());
    return queue_.submit_and_wait(std::move(list), completion);
  }
  Result<void> replay(const core::CommandList& list, core::ReplayState& state) override {
    NORITE_TRY(context_->usable());
    if (std::exchange(state.changed, false)) prepare(list, state);
    const auto* graph = static_cast<const StreamGraph*>(state.prepared.get());
    if (graph != nullptr) return queue_.replay(list.commands, graph->handle());
    return Backend::replay(list, state);
  }
  void wait_idle() override { queue_.wait_idle(); }

 private:
  /// What cannot be captured is launched one by one, and has its say there.
  void prepare(const core::CommandList& list, core::ReplayState& state) {
    const Current current(*context_);
    auto graph = std::static_pointer_cast<StreamGraph>(std::move(state.prepared));
    if (graph == nullptr) graph = StreamGraph::make(context_).value_or(nullptr);
    if (graph != nullptr && !list.commands.empty() && graph->become(list)) state.prepared = graph;
  }

  Gpu gpu_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<const Compiler> compiler_;
  Staging staging_;
  Queue queue_;
};

DeviceInfo unusable(DeviceInfo info, const Error& reason) {
  info.usable = info.computes = false;
  info.details = reason.message;
  return info;
}

Error no_gpu(const Driver& driver, int index, int count) {
  return {Code::unavailable,
          fmt::format("{}: NVIDIA's driver ({}) sees {} GPUs", gpu_id(index), driver.path, count)};
}

/// In place of GPUs that nobody can ask.
DeviceInfo unusable(int index, const Error& reason) {
  DeviceInfo info;
  info.id = gpu_id(index);
  info.backend = "cuda";
  info.index = index;
  return unusable(std::move(info), reason);
}

Result<std::shared_ptr<Stream>> make_stream(const std::shared_ptr<Context>& context,
                                            const DeviceOptions& options) {
  if (!options.cuda_stream) return Stream::create(context);
  return Stream::borrow(context, static_cast<CUstream>(*options.cuda_stream));
}

}  // namespace

std::vector<DeviceInfo> list(const Driver& driver,
                             const Result<std::shared_ptr<const Nvrtc>>& nvrtc) {
  const auto count = count_gpus(driver);
  if (!count) return {unusable(0, count.error())};
  if (*count == 0) return {unusable(0, no_gpu(driver, 0, 0))};
  std::vector<DeviceInfo> infos;
  for (int index = 0; index < *count; ++index) {
    auto gpu = describe_gpu(driver, index);
    if (!gpu) {
      infos.push_back(unusable(index, gpu.error()));
    } else if (auto fits = check_capability(*gpu); !fits) {
      infos.push_back(unusable(std::move(gpu->info), fits.error()));
    } else if (!nvrtc) {
      infos.push_back(unusable(std::move(gpu->info), nvrtc.error()));
    } else {
      infos.push_back(std::move(gpu->info));
    }
  }
  return infos;
}

std::vector<DeviceInfo> list() {
  const auto& found = driver();
  if (!found) return {unusable(0, found.error())};
  return list(**found, nvrtc((*found)->version));
}

Result<std::shared_ptr<core::Backend>> open(std::shared_ptr<const Driver> driver,
                                            std::shared_ptr<const Nvrtc> nvrtc, int index,
                                            const DeviceOptions& options) {
  NORITE_TRY_ASSIGN(const int count, count_gpus(*driver));
  if (index >= count) return tl::unexpected<Error>(no_gpu(*driver, index, count));
  NORITE_TRY_ASSIGN(Gpu gpu, describe_gpu(*driver, index));
  NORITE_TRY(check_capability(gpu));
  NORITE_TRY_ASSIGN(auto cache, core::ObjectCache::open());
  auto compiler = std::make_shared<const Compiler>(
      Compiler{std::move(nvrtc), gpu.capability, std::move(cache)});
  NORITE_TRY_ASSIGN(auto context, Context::retain(std::move(driver), gpu.device, gpu.info.id));
  NORITE_TRY(context->usable());
  NORITE_TRY_ASSIGN(auto stream, make_stream(context, options));
  return std::make_shared<CudaBackend>(std::move(gpu), std::move(context), std::move(stream),
                                       std::move(compiler));
}

Result<std::shared_ptr<core::Backend>> open(int index, const DeviceOptions& options) {
  NORITE_TRY_ASSIGN(auto found, driver());
  NORITE_TRY_ASSIGN(auto compiler, nvrtc(found->version));
  return open(std::move(found), std::move(compiler), index, options);
}

}  // namespace norite::cuda
