// SPDX-License-Identifier: MIT
#include "cuda/stand_in/computing.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

namespace norite::test {

namespace {

using namespace cuda;  // NOLINT: the names of the API are the point

// Of an H200.
constexpr size_t kSharedBytes = 48 << 10;  // of a group, unless a kernel asks for more
constexpr size_t kMostSharedBytes = 232448;
constexpr size_t kMultiprocessorBytes = 233472;  // of shared memory
constexpr size_t kReservedBytes = 1024;          // of that, by each group
constexpr unsigned kMostThreads = 2048, kMostGroups = 32;

std::mt19937_64 random_order(1);

unsigned groups_beside(size_t threads, size_t shared_bytes) {
  const size_t warps = (threads + ptx::kLanes - 1) / ptx::kLanes * ptx::kLanes;
  const size_t by_memory = kMultiprocessorBytes / (shared_bytes + kReservedBytes);
  return static_cast<unsigned>(std::min({kMostThreads / warps, by_memory, size_t{kMostGroups}}));
}

bool is_cooperative(const CUlaunchConfig& config) {
  return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const auto& one) {
    return one.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && one.value != 0;
  });
}

CUresult check(const ComputingModule& module, const CUlaunchConfig& config,
               unsigned multiprocessors) {
  const uint64_t threads = uint64_t{config.blockDimX} * config.blockDimY * config.blockDimZ;
  const uint64_t groups = uint64_t{config.gridDimX} * config.gridDimY * config.gridDimZ;
  if (threads == 0 || groups == 0 || config.gridDimX > INT32_MAX || config.gridDimY > 65535 ||
      config.gridDimZ > 65535 || config.blockDimZ > 64 || threads > module.kernel->max_threads) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t shared_bytes = module.kernel->shared_bytes + config.sharedMemBytes;
  if (shared_bytes > std::max(kSharedBytes, module.kernel->shared_bytes + module.asked_bytes) ||
      shared_bytes > kMostSharedBytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool fits = groups <= uint64_t{multiprocessors} * groups_beside(threads, shared_bytes);
  return is_cooperative(config) && !fits ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

CUresult error_of(ptx::Fault::Kind kind) {
  switch (kind) {
    case ptx::Fault::Kind::address:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case ptx::Fault::Kind::misaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case ptx::Fault::Kind::stuck:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ptx::Fault::Kind::race:
    case ptx::Fault::Kind::divergence:
      break;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

CUresult run(const ptx::Launch& launch, const ptx::Allocations& memory) {
  try {
    ptx::execute(launch, memory, random_order);
    return CUDA_SUCCESS;
  } catch (const ptx::Fault& fault) {
    std::fprintf(stderr, "stand-in GPU: %s\n", fault.what());
    return error_of(fault.kind);
  }
}

}  // namespace

bool is_ptx(const void* image) { return std::memcmp(image, "//", 2) == 0; }

std::unique_ptr<ComputingModule> load_ptx(const char* text) {
  try {
    return std::make_unique<ComputingModule>(ComputingModule{.kernel = ptx::compile(text)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in GPU: %s\n", error.what());
    return nullptr;
  }
}

PreparedLaunch prepare_launch(const ComputingModule& module, const CUlaunchConfig& config,
                              void** parameters, unsigned multiprocessors) {
  if (const CUresult refused = check(module, config, multiprocessors)) return {refused, nullptr};
  const ptx::Kernel& kernel = *module.kernel;
  ptx::Launch launch{.kernel = module.kernel,
                     .groups = {config.gridDimX, config.gridDimY, config.gridDimZ},
                     .threads = {config.blockDimX, config.blockDimY, config.blockDimZ},
                     .parameters = std::vector<uint8_t>(kernel.all_parameter_bytes),
                     .shared_bytes = config.sharedMemBytes,
                     .cooperative = is_cooperative(config)};
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::memcpy(launch.parameters.data() + kernel.parameters[i], parameters[i],
                kernel.parameter_bytes[i]);
  }
  return {CUDA_SUCCESS, [launch = std::move(launch)](const ptx::Allocations& memory) {
            return run(launch, memory);
          }};
}

void seed_computing(uint64_t seed) { random_order.seed(seed); }

}  // namespace norite::test
