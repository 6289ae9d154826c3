// SPDX-License-Identifier: MIT
// NVRTC: the compiler of CUDA C++ that is a library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.hpp"
#include "norite/error.hpp"

namespace norite::cuda {

class Nvrtc {
 public:
#define NORITE_CUDA_MEMBER(name, parameters) nvrtcResult(*name) parameters = nullptr;
  NORITE_CUDA_NVRTC_FUNCTIONS(NORITE_CUDA_MEMBER)
#undef NORITE_CUDA_MEMBER

  /// Compiles text for one GPU. Errors: compile_failed with the log.
  [[nodiscard]] Result<std::string> compile(const std::string& text,
                                            const std::vector<std::string>& options) const;
  /// The options that name a GPU of that compute capability (90 for 9.0): machine code where this
  /// NVRTC knows the GPU, else what the driver can compile on.
  [[nodiscard]] std::vector<std::string> architecture_options(int capability) const;

  std::string path;
  int version = 0;  // as Driver::version
  std::vector<int> architectures;
};

/// NORITE_NVRTC, else the newest NVRTC that a driver of `driver_version` can take code from, in the
/// places where CUDA, Python packages and systems put it. Errors: unavailable, with where it was
/// looked for or what is wrong with it.
[[nodiscard]] Result<std::shared_ptr<const Nvrtc>> load_nvrtc(int driver_version);

/// load_nvrtc() for the driver of this process, once.
[[nodiscard]] const Result<std::shared_ptr<const Nvrtc>>& nvrtc(int driver_version);

}  // namespace norite::cuda
