// SPDX-License-Identifier: MIT
// The kernels of tests/msl/shim: each shows a part of Metal's standard library.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "norite/kernel_registry.hpp"

namespace norite::test {

inline std::filesystem::path shim_folder() {
  return std::filesystem::path(NORITE_TEST_DATA).parent_path() / "msl" / "shim";
}

inline std::vector<std::string> shim_subjects() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shim_folder())) {
    if (entry.path().extension() == ".metal") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

inline KernelText shim_text(const std::string& subject) {
  std::ostringstream text;
  text << std::ifstream(shim_folder() / (subject + ".metal")).rdbuf();
  return {std::move(text).str(), subject + ".metal"};
}

}  // namespace norite::test
