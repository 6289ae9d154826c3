// SPDX-License-Identifier: MIT
#include "backends/cuda/nvrtc_paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>

#include "core/env.hpp"
#include "core/subprocess.hpp"

namespace norite::cuda {

namespace {

constexpr int kNewestMajor = 13;
constexpr int kOldestMajor = 12;

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

/// Folders that hold lib/python3*/site-packages, as far as the environment tells.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes = core::env::python_prefixes();
  const std::string python = core::find_program("python3");
  if (const size_t bin = python.rfind("/bin/"); bin != std::string::npos) {
    prefixes.push_back(python.substr(0, bin));
  }
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  return prefixes;
}

/// Folders and patterns of folders that hold the library itself.
std::vector<std::string> library_folders(int major) {
  std::vector<std::string> folders;
  for (const std::string& root : core::env::cuda_roots()) folders.push_back(root + "/lib64");
  folders.insert(folders.end(),
                 {"/usr/local/cuda/lib64", fmt::format("/usr/local/cuda-{}*/lib64", major)});
  for (const std::string& prefix : python_prefixes()) {
    const std::string packages = prefix + "/lib/python3*/*-packages/nvidia/";
    folders.push_back(prefix + "/lib");
    folders.push_back(packages + "cuda_nvrtc/lib");
    folders.push_back(fmt::format("{}cu{}/lib", packages, major));
  }
  return folders;
}

}  // namespace

NvrtcPlaces nvrtc_places(int driver_version) {
  if (const auto path = core::env::nvrtc()) return {{*path}, *path + " (NORITE_NVRTC)"};
  std::vector<std::string> paths, names;
  // The driver takes no code from a compiler of a later major version than its own.
  for (int major = std::min(kNewestMajor, driver_version / 1000); major >= kOldestMajor; --major) {
    const std::string name = fmt::format("libnvrtc.so.{}", major);
    paths.push_back(name);
    names.push_back(name);
    for (const std::string& folder : library_folders(major)) {
      for (std::string& path : matches(folder + "/" + name)) paths.push_back(std::move(path));
    }
  }
  paths.emplace_back("libnvrtc.so");
  return {std::move(paths),
          fmt::format("{} where the loader looks, in the lib64 of CUDA_HOME, CUDA_PATH and "
                      "/usr/local/cuda*, and in Python's nvidia packages under {}; NORITE_NVRTC "
                      "can name its path",
                      fmt::join(names, ", "), fmt::join(python_prefixes(), ", "))};
}

}  // namespace norite::cuda
