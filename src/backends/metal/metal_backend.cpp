// SPDX-License-Identifier: MIT
#include "backends/metal/metal_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/metal/foundation.hpp"
#include "backends/metal/gpus.hpp"
#include "backends/metal/health.hpp"
#include "backends/metal/memory.hpp"
#include "backends/metal/queue.hpp"
#include "backends/metal/residency.hpp"
#include "backends/metal/text_kernel.hpp"

namespace norite::metal {

namespace {

class MetalBackend final : public core::Backend {
 public:
  MetalBackend(Gpu gpu, const Object& queue)
      : gpu_(std::move(gpu)),
        health_(std::make_shared<Health>(gpu_.info.id)),
        residency_(std::make_shared<Residency>(gpu_.device, queue)),
        queue_(gpu_.device, queue, health_, residency_) {}

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return gpu_.info; }

  Result<std::shared_ptr<core::Storage>> allocate(int64_t bytes) override {
    NORITE_TRY(health_->usable());
    const AutoreleasePool pool;
    return SharedMemory::allocate(shared_from_this(), gpu_.device, residency_, bytes);
  }
  // Memory is shared: once the GPU is done with it, copies are the host's own.
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

  [[nodiscard]] NativeFunction native_builtin(std::string_view) const override { return {}; }
  [[nodiscard]] bool runs_native() const noexcept override { return false; }
  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource& source,
                                                             const KernelId& id) override {
    NORITE_TRY(health_->usable());
    const AutoreleasePool pool;
    return TextKernel::make(shared_from_this(), gpu_.device, source, id);
  }

  Result<void> submit(core::CommandList list,
                      std::shared_ptr<core::Completion> completion) override {
    NORITE_TRY(health_->usable());
    queue_.submit(std::move(list), std::move(completion));
    return {};
  }
  Result<void> submit_and_wait(core::CommandList list,
                               std::shared_ptr<core::Completion> completion) override {
    NORITE_TRY(health_->usable());
    return queue_.submit_and_wait(std::move(list), completion);
  }
  void wait_idle() override { queue_.wait_idle(); }

 private:
  Gpu gpu_;
  std::shared_ptr<Health> health_;
  std::shared_ptr<Residency> residency_;
  Queue queue_;
};

}  // namespace

std::vector<DeviceInfo> list() {
  if (!runtime()) return {};
  const AutoreleasePool pool;
  std::vector<DeviceInfo> infos;
  for (Gpu& gpu : find_gpus()) {
    if (auto fits = check_gpu(gpu); !fits) {
      gpu.info.usable = gpu.info.computes = false;
      gpu.info.details = fits.error().message;
    }
    infos.push_back(std::move(gpu.info));
  }
  return infos;
}

Result<std::shared_ptr<core::Backend>> open(int index, const DeviceOptions&) {
  NORITE_TRY(runtime());
  const AutoreleasePool pool;
  auto gpus = find_gpus();
  if (static_cast<size_t>(index) >= gpus.size()) {
    return fail(Code::unavailable, fmt::format("metal:{}: Metal sees {} GPUs", index, gpus.size()));
  }
  Gpu& gpu = gpus[static_cast<size_t>(index)];
  NORITE_TRY(check_gpu(gpu));
  const auto queue = Object::adopt(msg::new_command_queue(gpu.device));
  if (queue == nullptr) {
    return fail(Code::unavailable, fmt::format("{}: it gives no command queue", gpu.info.id));
  }
  set_label(queue, "Norite");
  return std::make_shared<MetalBackend>(std::move(gpu), queue);
}

}  // namespace norite::metal
