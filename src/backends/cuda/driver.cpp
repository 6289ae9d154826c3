// SPDX-License-Identifier: MIT
#include "backends/cuda/driver.hpp"

#include <fmt/format.h>

#include "core/env.hpp"
#include "core/library.hpp"

namespace norite::cuda {

namespace {

constexpr int kOldestVersion = 12000;

Result<core::Library> open_library() {
  constexpr const char* kWhat = "NVIDIA's driver";
  if (auto path = core::env::cuda_library()) return core::Library::open(kWhat, *path, {*path});
  // Containers and WSL put it where the loader may not look.
  return core::Library::open(
      kWhat, "libcuda.so.1 in the loader's folders, /usr/local/nvidia/lib64 and /usr/lib/wsl/lib",
      {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"});
}

Result<void> check_version(Driver& driver) {
  if (const CUresult error = driver.cuDriverGetVersion(&driver.version)) {
    return fail(Code::unavailable, fmt::format("{} does not tell its version: {}", driver.path,
                                               driver.describe(error)));
  }
  if (driver.version >= kOldestVersion) return {};
  return fail(Code::unavailable,
              fmt::format("NVIDIA's driver ({}) is for CUDA {}, expected {} or later", driver.path,
                          version_text(driver.version), version_text(kOldestVersion)));
}

}  // namespace

std::string Driver::describe(CUresult error) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(error, &name);
  cuGetErrorString(error, &text);
  if (name == nullptr) return fmt::format("CUDA error {}", error);
  return text == nullptr ? name : fmt::format("{} ({})", text, name);
}

Result<std::shared_ptr<const Driver>> load_driver() {
  NORITE_TRY_ASSIGN(const core::Library library, open_library());
  auto driver = std::make_shared<Driver>();
  driver->path = library.path();
#define NORITE_CUDA_FIND(name, parameters) NORITE_TRY(library.find(#name, driver->name));
  NORITE_CUDA_DRIVER_FUNCTIONS(NORITE_CUDA_FIND)
#undef NORITE_CUDA_FIND
  NORITE_TRY(check_version(*driver));
  if (const CUresult error = driver->cuInit(0)) {
    return fail(Code::unavailable, fmt::format("NVIDIA's driver ({}) cannot be used: {}",
                                               driver->path, driver->describe(error)));
  }
  return driver;
}

const Result<std::shared_ptr<const Driver>>& driver() {
  static const Result<std::shared_ptr<const Driver>> loaded = load_driver();
  return loaded;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace norite::cuda
