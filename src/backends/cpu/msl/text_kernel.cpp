// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/text_kernel.hpp"

#include <chrono>

#include "backends/cpu/msl/compile.hpp"
#include "backends/cpu/msl/dispatch.hpp"
#include "backends/cpu/msl/launch.hpp"
#include "core/footprint.hpp"
#include "msl/lower_clang.hpp"
#include "msl/parameters.hpp"
#include "msl/source.hpp"

namespace norite::cpu::msl {

namespace front = norite::msl;

namespace {

/// A compiled kernel together with what each launch of it needs to know.
struct TextKernel {
  std::string name;
  std::shared_ptr<KernelObject> object;
  std::vector<Parameter> parameters;
  std::chrono::milliseconds time_limit;
};

BufferBinding bind(unsigned index, const Parameter& parameter, const Argument& argument) {
  BufferBinding binding{
      .index = index, .read_only = parameter.access == Access::read, .name = parameter.name};
  if (!argument.constants().empty()) {
    // The kernel's parameter is const: nothing writes through this pointer.
    binding.data = const_cast<std::byte*>(argument.constants().data());
    binding.bytes = argument.constants().size();
  } else {
    const core::Footprint touched = core::footprint(argument.view());
    binding.data = argument.view().host_data();
    binding.bytes = static_cast<uint64_t>(touched.end - touched.begin);
  }
  return binding;
}

Launch launch_of(const TextKernel& kernel, const NativeCall& call) {
  const Grid& grid = call.grid();
  Launch launch{.kernel = kernel.name, .groups = grid.groups, .threads = grid.threads};
  if (grid.total[0] != 0) launch.grid = grid.total;
  launch.time_limit = kernel.time_limit;
  for (unsigned i = 0; i < call.arguments().size(); ++i) {
    const Argument& argument = call.arguments()[i];
    if (argument.bound()) launch.buffers.push_back(bind(i, kernel.parameters[i], argument));
  }
  for (unsigned i = 0; i < grid.threadgroup_memory.size(); ++i) {
    const auto bytes = static_cast<uint64_t>(grid.threadgroup_memory[i]);
    if (bytes > 0) launch.slots.push_back({.index = i, .bytes = bytes});
  }
  return launch;
}

}  // namespace

Result<std::shared_ptr<const core::PipelineState>> compile_text(
    std::shared_ptr<const core::Backend> backend, const core::ObjectCache& cache,
    const core::KernelSource& source, const KernelId& id, const DeviceOptions& options) {
  NORITE_TRY_ASSIGN(const front::Module module,
                    front::parse(front::source_of(source), id.specialisation));
  NORITE_TRY_ASSIGN(const front::Kernel* const entry, front::find_kernel(module, source.entry()));
  NORITE_TRY_ASSIGN(const front::ConstantValues constants,
                    front::constant_values(module, id.constants));
  NORITE_TRY_ASSIGN(const std::string lowered, front::lower_for_clang(module, *entry, constants));

  auto kernel = std::make_shared<TextKernel>();
  kernel->name = source.entry();
  NORITE_TRY_ASSIGN(kernel->object, compile(cache, source.entry(), lowered, options.checked));
  kernel->parameters = front::pipeline_parameters(module, *entry, constants);
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    kernel->parameters[i].min_bytes = static_cast<int64_t>(kernel->object->entry().buffer_bytes[i]);
  }
  kernel->time_limit =
      std::chrono::milliseconds(static_cast<int64_t>(options.kernel_time_limit_seconds * 1000));

  NativeFunction run_kernel = [kernel](const NativeCall& call) {
    return run(*kernel->object, launch_of(*kernel, call), call);
  };
  return std::make_shared<const core::PipelineState>(std::move(backend), source.entry(),
                                                     kernel->parameters, std::move(run_kernel),
                                                     front::grid_rules(module, *entry));
}

}  // namespace norite::cpu::msl
