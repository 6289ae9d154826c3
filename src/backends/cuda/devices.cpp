// SPDX-License-Identifier: MIT
#include "backends/cuda/devices.hpp"

#include <fmt/format.h>

#include <array>

namespace norite::cuda {

namespace {

constexpr int kOldestCapability = 75;  // what NVRTC still compiles for
constexpr int kCopiesAhead = 80;       // to threadgroup memory, from here on

/// Asks for several values; the first error counts.
class Questions {
 public:
  Questions(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}

  int attribute(int which) {
    int value = 0;
    note(driver_.cuDeviceGetAttribute(&value, which, device_));
    return value;
  }
  std::string name() {
    std::array<char, 256> text = {};
    note(driver_.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, device_));
    return text.data();
  }
  int64_t memory_bytes() {
    size_t bytes = 0;
    note(driver_.cuDeviceTotalMem_v2(&bytes, device_));
    return static_cast<int64_t>(bytes);
  }
  [[nodiscard]] CUresult error() const { return error_; }

 private:
  void note(CUresult error) {
    if (error_ == CUDA_SUCCESS) error_ = error;
  }

  const Driver& driver_;
  CUdevice device_;
  CUresult error_ = CUDA_SUCCESS;
};

tl::unexpected<Error> refused(const Driver& driver, std::string_view what, CUresult error) {
  return fail(Code::unavailable, fmt::format("NVIDIA's driver ({}): {}: {}", driver.path, what,
                                             driver.describe(error)));
}

}  // namespace

std::string gpu_id(int index) { return index == 0 ? "cuda" : fmt::format("cuda:{}", index); }

Result<int> count_gpus(const Driver& driver) {
  int count = 0;
  const CUresult error = driver.cuDeviceGetCount(&count);
  if (error != CUDA_SUCCESS) return refused(driver, "counting GPUs", error);
  return count;
}

Result<Gpu> describe_gpu(const Driver& driver, int index) {
  Gpu gpu;
  if (const CUresult error = driver.cuDeviceGet(&gpu.device, index)) {
    return refused(driver, fmt::format("GPU {}", index), error);
  }
  Questions ask(driver, gpu.device);
  gpu.capability = 10 * ask.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                   ask.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  gpu.has_pools = ask.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
  DeviceInfo& info = gpu.info;
  info.id = gpu_id(index);
  info.backend = "cuda";
  info.index = index;
  info.name = ask.name();
  const int multiprocessors = ask.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  // Kernels whose groups wait for each other copy ahead, which older GPUs cannot.
  const bool cooperates =
      gpu.capability >= kCopiesAhead && ask.attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
  info.details = fmt::format("sm_{}, {} multiprocessors, CUDA {}", gpu.capability, multiprocessors,
                             version_text(driver.version));
  info.memory_bytes = ask.memory_bytes();
  info.limits = {.max_buffer_bytes = info.memory_bytes,
                 .max_threads_per_group = ask.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                 .max_group_memory_bytes =
                     ask.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
                 .cooperating_units = cooperates ? multiprocessors : 0};
  if (ask.error() != CUDA_SUCCESS) return refused(driver, info.id, ask.error());
  return gpu;
}

Result<void> check_capability(const Gpu& gpu) {
  if (gpu.capability >= kOldestCapability) return {};
  return fail(Code::unavailable,
              fmt::format("{}: {} has compute capability {}.{}, expected {}.{} or later",
                          gpu.info.id, gpu.info.name, gpu.capability / 10, gpu.capability % 10,
                          kOldestCapability / 10, kOldestCapability % 10));
}

}  // namespace norite::cuda
