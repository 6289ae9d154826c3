// SPDX-License-Identifier: MIT
#include "msl/shim.hpp"

#include <set>

namespace norite::msl {

namespace {

/// Portable headers name what differs by its CPU flavour: cuda_x.h has what cpu_x.h has.
std::string flavour(std::string_view path, Target target) {
  constexpr std::string_view kCpu = "shim/cpu_";
  if (target == Target::clang || !path.starts_with(kCpu)) return std::string(path);
  return "shim/cuda_" + std::string(path.substr(kCpu.size()));
}

/// Appends a header with those that it includes, each once, in front of it.
void append(const std::string& path, Target target, std::set<std::string>& seen,
            std::string& text) {
  if (!seen.insert(path).second) return;
  for (const core::EmbeddedFile& file : shim_files()) {
    if (file.path != path) continue;
    std::string_view rest = file.text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      const std::string_view line = rest.substr(0, end);
      constexpr std::string_view kInclude = "#include \"";
      if (line.starts_with(kInclude)) {
        const std::string_view name = line.substr(kInclude.size());
        append(flavour(name.substr(0, name.find('"')), target), target, seen, text);
      } else if (!line.starts_with("#pragma once")) {
        text += line;
      }
      rest.remove_prefix(end);
    }
  }
}

std::string amalgamate(const std::string& path, Target target) {
  std::string text;
  std::set<std::string> seen;
  append(path, target, seen, text);
  return text;
}

}  // namespace

const std::string& shim_text(Target target) {
  static const std::string for_clang = amalgamate("shim/metal_stdlib.h", Target::clang);
  static const std::string for_nvrtc = amalgamate("shim/metal_cuda.h", Target::nvrtc);
  return target == Target::clang ? for_clang : for_nvrtc;
}

const std::string& lint_shim_text() {
  static const std::string text = amalgamate("shim/lint/prelude.h", Target::clang) + shim_text() +
                                  amalgamate("shim/lint/qualified_types.h", Target::clang);
  return text;
}

}  // namespace norite::msl
