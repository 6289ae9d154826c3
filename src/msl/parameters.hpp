// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/pipeline.hpp"
#include "msl/module.hpp"
#include "msl/rewrite.hpp"

namespace norite::msl {

/// What a dispatch of the kernel is checked against: position n is [[buffer(n)]].
[[nodiscard]] std::vector<Parameter> pipeline_parameters(const Module& module, const Kernel& kernel,
                                                         const ConstantValues& constants);
[[nodiscard]] core::GridRules grid_rules(const Module& module, const Kernel& kernel);

/// Whether a function constant leaves the parameter out.
[[nodiscard]] bool absent(const KernelParameter& parameter, const ConstantValues& constants);

/// What is wrong with a parameter of kind `unsupported`.
[[nodiscard]] std::string why_unsupported(const KernelParameter& parameter);

/// The kernel of that name. Errors: not_found, with the names there are.
[[nodiscard]] Result<const Kernel*> find_kernel(const Module& module, std::string_view name);

}  // namespace norite::msl
