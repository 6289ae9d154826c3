// SPDX-License-Identifier: MIT
#include "backends/metal/text_kernel.hpp"

#include <fmt/format.h>

#include "backends/metal/compile.hpp"
#include "backends/metal/foundation.hpp"
#include "msl/lowering.hpp"
#include "msl/parameters.hpp"
#include "msl/source.hpp"

namespace norite::metal {

namespace {

constexpr NSUInteger kSimdWidth = 32;  // what kernels count on, and all of Apple's GPUs have

/// Notes how many bytes each buffer must have, as Metal tells.
void read_sizes(Id reflection, std::vector<Parameter>& parameters) {
  for_each(msg::bindings(reflection), [&](Id binding) {
    if (msg::binding_type(binding) != MTLBindingTypeBuffer) return;
    const NSUInteger index = msg::binding_index(binding);
    if (index >= parameters.size()) return;
    parameters[index].min_bytes = static_cast<int64_t>(msg::buffer_data_size(binding));
  });
}

}  // namespace

Result<std::shared_ptr<const core::PipelineState>> TextKernel::make(
    std::shared_ptr<const core::Backend> backend, Id device, const core::KernelSource& source,
    const KernelId& id) {
  NORITE_TRY_ASSIGN(const msl::Module module,
                    msl::parse(msl::source_of(source), id.specialisation));
  NORITE_TRY_ASSIGN(const auto constants, msl::constant_values(module, id.constants));
  NORITE_TRY_ASSIGN(const msl::Kernel* const entry, msl::find_kernel(module, source.entry()));
  NORITE_TRY(msl::check_parameters(module, *entry));
  NORITE_TRY_ASSIGN(Compiled compiled, compile(device, module, *entry, constants));

  if (const NSUInteger width = msg::execution_width(compiled.pipeline); width != kSimdWidth) {
    return fail(Code::unsupported, fmt::format("kernel \"{}\": its SIMD-groups have {} threads "
                                               "here, expected {}",
                                               entry->name, width, kSimdWidth));
  }
  auto parameters = msl::pipeline_parameters(module, *entry, constants);
  read_sizes(compiled.reflection, parameters);
  auto rules = msl::grid_rules(module, *entry);
  rules.max_threads_per_group = static_cast<int64_t>(msg::max_threads(compiled.pipeline));
  const auto static_bytes = static_cast<int64_t>(msg::static_threadgroup_memory(compiled.pipeline));
  return std::shared_ptr<const core::PipelineState>(
      new TextKernel(std::move(backend), source.entry(), std::move(parameters), std::move(rules),
                     std::move(compiled.pipeline), static_bytes));
}

}  // namespace norite::metal
