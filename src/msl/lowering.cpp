// SPDX-License-Identifier: MIT
#include "msl/lowering.hpp"

#include "msl/parameters.hpp"

namespace norite::msl {

Result<void> check_parameters(const Module& module, const Kernel& kernel) {
  for (const KernelParameter& parameter : module.definition_of(kernel).parameters) {
    if (parameter.kind != ParameterKind::unsupported) continue;
    return fail(Code::unsupported,
                fmt::format("{}: kernel \"{}\", {}", module.text.where(parameter.location),
                            kernel.name, why_unsupported(parameter)));
  }
  return {};
}

std::string constant_definitions(const Module& module, const ConstantValues& constants) {
  std::string text;
  for (const FunctionConstant& constant : module.constants) {
    const auto value = constants.find(constant.name);
    text += value == constants.end()
                ? fmt::format("static constexpr norite_msl::UndefinedConstant<{}> {}{{}};\n",
                              constant.index, constant.name)
                : fmt::format("static constexpr {0} {1} = static_cast<{0}>({2});\n", constant.type,
                              constant.name, value->second);
  }
  return text;
}

void print_address(const Module& module, const Kernel& kernel, Rewriter& rewriter,
                   Printer& printer) {
  const KernelDefinition& definition = module.definition_of(kernel);
  // Qualified: a kernel may be called `exp`, and `using namespace metal` be in force.
  const std::string name =
      definition.scope.empty() ? definition.name : definition.scope + "::" + definition.name;
  if (kernel.signature.empty()) {
    printer.insert("&::" + name, kernel.location);
    rewriter.range(kernel.arguments.begin, kernel.arguments.end);
  } else {
    printer.insert("static_cast<void (*)", kernel.location);
    rewriter.range(kernel.signature.begin, kernel.signature.end);
    printer.insert(fmt::format(">(::{})", name), kernel.location);
  }
}

}  // namespace norite::msl
