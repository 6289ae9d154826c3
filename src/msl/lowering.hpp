// SPDX-License-Identifier: MIT
// What the texts for every compiler have in common.
#pragma once

#include <fmt/format.h>

#include <string>

#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::msl {

/// Errors: unsupported for a kernel that takes textures and the like, with the parameter's place.
[[nodiscard]] Result<void> check_parameters(const Module& module, const Kernel& kernel);

/// Function constants as constants of C++.
[[nodiscard]] std::string constant_definitions(const Module& module,
                                               const ConstantValues& constants);

/// The kernel's address: `&name<arguments>`, or a cast that picks the overload an instantiation's
/// parameters name.
void print_address(const Module& module, const Kernel& kernel, Rewriter& rewriter,
                   Printer& printer);

/// Kernels are named from inside of the namespace that they are in.
template <class Print>
void in_scope_of(const KernelDefinition& definition, Printer& printer, const Print& print) {
  const bool scoped = !definition.scope.empty();
  if (scoped) printer.lines(fmt::format("namespace {} {{", definition.scope));
  print();
  if (scoped) printer.lines("}");
}

}  // namespace norite::msl
