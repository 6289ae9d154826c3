// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/cuda_api.hpp"
#include "norite/error.hpp"

namespace norite::cuda {

/// The functions of NVIDIA's driver, by their own names.
struct Driver {
#define NORITE_CUDA_MEMBER(name, parameters) CUresult(*name) parameters = nullptr;
  NORITE_CUDA_DRIVER_FUNCTIONS(NORITE_CUDA_MEMBER)
#undef NORITE_CUDA_MEMBER

  std::string path;
  int version = 0;  // the CUDA that it is for: 1000 * major + 10 * minor

  /// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"
  [[nodiscard]] std::string describe(CUresult error) const;
};

/// NORITE_CUDA_LIBRARY, else libcuda.so.1, ready to be used. Errors: unavailable, with what was
/// looked for or what the library lacks.
[[nodiscard]] Result<std::shared_ptr<const Driver>> load_driver();

/// load_driver(), once in a process: what it found, or did not find, stays so.
[[nodiscard]] const Result<std::shared_ptr<const Driver>>& driver();

/// "12.4"
[[nodiscard]] std::string version_text(int version);

}  // namespace norite::cuda
