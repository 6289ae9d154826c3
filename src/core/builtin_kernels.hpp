// SPDX-License-Identifier: MIT
// The kernels that operations dispatch, as every backend offers them. Positions follow the argument
// enums of kernels/*/params.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "norite/native_kernel.hpp"

namespace norite::core {

struct BuiltinKernel {
  std::string name;
  std::vector<Parameter> parameters;
};

std::span<const BuiltinKernel> builtin_kernels();

}  // namespace norite::core
