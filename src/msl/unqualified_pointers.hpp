// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "msl/finding.hpp"
#include "msl/module.hpp"

namespace norite::msl {

/// Variables, members and parameters that point to a number, a vector or a struct of the file
/// without saying in which address space it is. Clang cannot tell: it takes every pointer to lead
/// into some space.
[[nodiscard]] std::vector<Finding> unqualified_pointers(const Module& module);

}  // namespace norite::msl
