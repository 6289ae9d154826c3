// SPDX-License-Identifier: MIT
#include "msl/parameters.hpp"

#include <fmt/format.h>

namespace norite::msl {

bool absent(const KernelParameter& parameter, const ConstantValues& constants) {
  if (parameter.gate.empty()) return false;
  const auto value = constants.find(parameter.gate);
  return value == constants.end() || value->second == "false" || value->second == "0";
}

std::vector<Parameter> pipeline_parameters(const Module& module, const Kernel& kernel,
                                           const ConstantValues& constants) {
  std::vector<Parameter> result;
  for (const KernelParameter& parameter : module.definition_of(kernel).parameters) {
    if (parameter.kind != ParameterKind::buffer) continue;
    if (result.size() <= parameter.index) {
      result.resize(parameter.index + 1, {.name = "", .access = Access::none});
    }
    Parameter& slot = result[parameter.index];
    const bool left_out = absent(parameter, constants);
    if (left_out && slot.access != Access::none) continue;  // another takes its index
    slot = {.name = parameter.name,
            .access = parameter.read_only || left_out ? Access::read : Access::read_write,
            .optional = left_out,
            .constants_allowed = parameter.read_only || left_out};
  }
  return result;
}

core::GridRules grid_rules(const Module& module, const Kernel& kernel) {
  const KernelDefinition& definition = module.definition_of(kernel);
  core::GridRules rules{.max_threads_per_group = definition.max_threads};
  for (const KernelParameter& parameter : definition.parameters) {
    if (parameter.kind != ParameterKind::threadgroup) continue;
    if (rules.threadgroup_slots.size() <= parameter.index) {
      rules.threadgroup_slots.resize(parameter.index + 1);
    }
    rules.threadgroup_slots[parameter.index] =
        parameter.name.empty() ? "(unnamed)" : parameter.name;
  }
  return rules;
}

std::string why_unsupported(const KernelParameter& parameter) {
  return fmt::format("parameter \"{}\": {}", parameter.name,
                     parameter.attribute.empty()
                         ? "it has no address space and no attribute"
                         : fmt::format("[[{}]] is not supported", parameter.attribute));
}

Result<const Kernel*> find_kernel(const Module& module, std::string_view name) {
  if (const Kernel* const kernel = module.find(name)) return kernel;
  constexpr size_t kMostNames = 20;
  std::string names;
  for (size_t i = 0; i < module.kernels.size() && i < kMostNames; ++i) {
    names += (i == 0 ? "" : ", ") + module.kernels[i].name;
  }
  if (module.kernels.size() > kMostNames) names += ", …";
  return fail(Code::not_found,
              fmt::format("{}: no kernel named \"{}\"; it has {}", module.text.files[0], name,
                          names.empty() ? "none" : names));
}

}  // namespace norite::msl
