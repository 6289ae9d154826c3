// SPDX-License-Identifier: MIT
// The kernels that operations dispatch, as every backend offers them. Positions follow the argument
// enums of kernels/*/params.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "norite/native_kernel.hpp"

namespace norite::core {

struct BuiltinKernel {
  std::string name;
  std::vector<Parameter> parameters;
};

std::span<const BuiltinKernel> builtin_kernels();
/// Such a kernel writes all of its outputs' views, does nothing else, and takes time as its bytes
/// do.
bool is_builtin(std::string_view kernel) noexcept;

}  // namespace norite::core
