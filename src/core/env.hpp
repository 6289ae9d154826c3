// SPDX-License-Identifier: MIT
// Every environment variable that Norite reads, in one place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "norite/error.hpp"

namespace norite::core::env {

/// NORITE_DEVICE: the device that Device::open() takes when none is named.
std::optional<std::string> device();
/// NORITE_NUM_THREADS: threads of the CPU device, 1 to 1024.
Result<std::optional<int>> num_threads();
/// NORITE_CPU_TARGET: the SIMD level of the CPU device.
std::optional<std::string> cpu_target();
inline constexpr int kMostL1Kib = 65536;
/// NORITE_CPU_L1_KIB: the size of a core's L1 data cache, 1 to kMostL1Kib.
Result<std::optional<int>> cpu_l1_kib();
/// NORITE_CLANG: the clang++ that compiles kernel text for the CPU, as a path or a name in PATH.
std::optional<std::string> clang();
/// NORITE_CUDA_LIBRARY: the path of NVIDIA's driver library.
std::optional<std::string> cuda_library();
/// NORITE_NVRTC: the path of the library that compiles kernels for NVIDIA GPUs.
std::optional<std::string> nvrtc();
/// NORITE_METAL_RUNTIME: a library that stands in for macOS's Objective-C runtime and Metal.
std::optional<std::string> metal_runtime();
/// CUDA_HOME and CUDA_PATH: where CUDA is installed.
std::vector<std::string> cuda_roots();
/// CUDA_LAUNCH_BLOCKING: whether the driver waits for every launch.
bool cuda_launch_blocking();
/// VIRTUAL_ENV, CONDA_PREFIX and the user's own folder: where Python packages may be.
std::vector<std::string> python_prefixes();
/// NORITE_CACHE_DIR, else the folder `norite` in the user's cache folder; nothing where no home is
/// known.
std::optional<std::string> cache_folder();
/// TMPDIR, else /tmp.
std::string temporary_folder();
/// PATH, else where a system keeps its programs.
std::string search_path();

}  // namespace norite::core::env
