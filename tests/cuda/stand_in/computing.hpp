// SPDX-License-Identifier: MIT
// The part of the stand-in that computes: modules of PTX are loaded and launched as a driver does
// it, and executed by the machine of tests/cuda/ptx.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "backends/cuda/cuda_api.hpp"
#include "cuda/ptx/machine.hpp"

namespace norite::test {

/// A module and its only function.
struct ComputingModule {
  std::shared_ptr<const ptx::Kernel> kernel;
  size_t asked_bytes = 0;  // of shared memory that a launch adds
};

/// Whether an image of a module is PTX. Others stand for kernels that compute nothing.
bool is_ptx(const void* image);

/// Nothing where the machine does not know what is in the text, which it says on stderr.
std::unique_ptr<ComputingModule> load_ptx(const char* text);

/// What a launch does, or the error with which a driver refuses it. The work gives the error of a
/// fault, which it also describes on stderr.
struct PreparedLaunch {
  cuda::CUresult refused = cuda::CUDA_SUCCESS;
  std::function<cuda::CUresult(const ptx::Allocations&)> work;
};
PreparedLaunch prepare_launch(const ComputingModule& module, const cuda::CUlaunchConfig& config,
                              void** parameters, unsigned multiprocessors);

/// From here on, threads are interrupted in the order of that seed.
void seed_computing(uint64_t seed);

}  // namespace norite::test
