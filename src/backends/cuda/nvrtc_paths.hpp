// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace norite::cuda {

/// Where NVRTC may be.
struct NvrtcPlaces {
  std::vector<std::string> paths;  // the best first
  std::string description;         // of all places, for people
};

/// NORITE_NVRTC alone where it is set; else what the loader knows by name, CUDA's own folders, and
/// Python packages of this user's environments.
[[nodiscard]] NvrtcPlaces nvrtc_places(int driver_version);

}  // namespace norite::cuda
