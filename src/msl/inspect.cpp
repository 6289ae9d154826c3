// SPDX-License-Identifier: MIT
#include "msl/module.hpp"
#include "msl/source.hpp"
#include "norite/kernel_text.hpp"

namespace norite {

namespace {

KernelInfo describe(const msl::Module& module, const msl::Kernel& kernel) {
  const msl::KernelDefinition& definition = module.definition_of(kernel);
  KernelInfo info;
  info.name = kernel.name;
  info.max_threads_per_group = definition.max_threads;
  info.place = module.text.where(kernel.location);
  for (const msl::KernelParameter& parameter : definition.parameters) {
    KernelArgument argument{.index = parameter.index,
                            .name = parameter.name,
                            .type = parameter.type,
                            .address_space = parameter.address_space,
                            .read_only = parameter.read_only,
                            .gate = parameter.gate};
    if (parameter.kind == msl::ParameterKind::buffer) {
      info.buffers.push_back(std::move(argument));
    } else if (parameter.kind == msl::ParameterKind::threadgroup) {
      info.threadgroup_slots.push_back(std::move(argument));
    }
  }
  return info;
}

}  // namespace

Result<KernelFileInfo> inspect_kernels(const KernelText& text,
                                       const Specialisation& specialisation) {
  NORITE_TRY_ASSIGN(const msl::Module module, msl::parse(msl::source_of(text), specialisation));
  KernelFileInfo info;
  for (const msl::Kernel& kernel : module.kernels) info.kernels.push_back(describe(module, kernel));
  for (const msl::FunctionConstant& constant : module.constants) {
    info.constants.push_back({constant.index, constant.name, constant.type});
  }
  return info;
}

}  // namespace norite
