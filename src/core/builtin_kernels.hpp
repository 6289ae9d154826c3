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
/// A built-in kernel, which writes all of its outputs' views, does nothing else, and takes time as
/// its bytes do; nullptr for kernels of the user's.
const BuiltinKernel* find_builtin(std::string_view kernel) noexcept;
/// What a kernel does with an argument: by `builtin`, where it is one, whatever its text allows.
Access declared_access(const BuiltinKernel* builtin, std::span<const Parameter> parameters,
                       size_t position) noexcept;

}  // namespace norite::core
