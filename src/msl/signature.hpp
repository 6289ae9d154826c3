// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "msl/constant_expression.hpp"
#include "msl/module.hpp"

namespace norite::msl {

/// How the wrapper names a place in abi.h's ThreadPlace `t`; empty for an unknown attribute.
[[nodiscard]] std::string_view place_expression(std::string_view attribute) noexcept;

/// Reads a kernel's parameters from the parentheses of its definition. Buffers and threadgroup
/// slots without an index get the lowest that is free, in order.
[[nodiscard]] Result<std::vector<KernelParameter>> read_parameters(const Module& module,
                                                                   Range parentheses,
                                                                   const Constants& constants);

}  // namespace norite::msl
