// SPDX-License-Identifier: MIT
#include "backends/null/null_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "msl/parameters.hpp"
#include "msl/source.hpp"

namespace norite::null {

namespace {

DeviceInfo describe() {
  DeviceInfo info;
  info.id = "null";
  info.backend = "null";
  info.name = "null device";
  info.details = "records dispatches, computes nothing";
  info.computes = false;
  info.memory_bytes = int64_t{1} << 30;
  // Those of a large GPU, so that plans for one can be recorded anywhere.
  info.limits = {.max_buffer_bytes = int64_t{1} << 30,
                 .max_threads_per_group = 1024,
                 .max_group_memory_bytes = 227 * 1024,
                 .cooperating_units = 132};
  return info;
}

class NullStorage final : public core::Storage {
 public:
  using Storage::Storage;
  ~NullStorage() override { std::free(host_data()); }
};

class NullBackend final : public core::Backend {
 public:
  explicit NullBackend(BuiltinForm builtins) : builtins_(builtins) {}

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }

  Result<std::shared_ptr<core::Storage>> allocate(int64_t bytes) override {
    // Of large zeroed memory, systems give only what is touched.
    auto* const memory = static_cast<std::byte*>(std::calloc(1, static_cast<size_t>(bytes)));
    if (memory == nullptr) {
      return fail(Code::out_of_memory, fmt::format("null: no memory for {} bytes", bytes));
    }
    return std::make_shared<NullStorage>(shared_from_this(), bytes, memory);
  }
  Result<void> write(core::Storage& target, int64_t offset,
                     std::span<const std::byte> source) override {
    std::copy(source.begin(), source.end(), target.host_data() + offset);
    return {};
  }
  Result<void> read(const core::Storage& source, int64_t offset,
                    std::span<std::byte> target) override {
    std::copy_n(source.host_data() + offset, target.size(), target.begin());
    return {};
  }
  Result<void> fill_zero(core::Storage& target) override {
    std::memset(target.host_data(), 0, static_cast<size_t>(target.size_bytes()));
    return {};
  }

  [[nodiscard]] NativeFunction native_builtin(std::string_view) const override {
    if (builtins_ == BuiltinForm::text) return {};
    return [](const NativeCall&) -> Result<void> { return {}; };
  }
  [[nodiscard]] bool runs_native() const noexcept override { return true; }

  // Text is read, so that dispatches are checked against it, but not compiled.
  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource& source,
                                                             const KernelId& id) override {
    NORITE_TRY_ASSIGN(const msl::Module module,
                      msl::parse(msl::source_of(source), id.specialisation));
    NORITE_TRY_ASSIGN(const msl::Kernel* const kernel, msl::find_kernel(module, source.entry()));
    NORITE_TRY_ASSIGN(const auto constants, msl::constant_values(module, id.constants));
    return std::make_shared<const core::PipelineState>(
        shared_from_this(), source.name, msl::pipeline_parameters(module, *kernel, constants),
        NativeFunction(), msl::grid_rules(module, *kernel));
  }

  Result<void> submit(core::CommandList list,
                      std::shared_ptr<core::Completion> completion) override {
    std::vector<DispatchTiming> timings;
    if (list.timing == Timing::whole && !list.commands.empty()) {
      timings.push_back(core::whole_timing(0));
    } else if (list.timing == Timing::each) {
      for (const core::Command& command : list.commands) timings.push_back({command.label, 0, 0});
    }
    completion->complete({}, std::move(timings));
    return {};
  }
  void wait_idle() override {}

 private:
  DeviceInfo info_ = describe();
  BuiltinForm builtins_;
};

}  // namespace

std::vector<DeviceInfo> list() { return {describe()}; }

Result<std::shared_ptr<core::Backend>> open(int, const DeviceOptions& options) {
  return std::make_shared<NullBackend>(options.builtins);
}

}  // namespace norite::null
