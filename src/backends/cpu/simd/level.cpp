// SPDX-License-Identifier: MIT
#include "backends/cpu/simd/level.hpp"

#include <fmt/format.h>
#include <hwy/highway.h>

namespace norite::cpu {

const std::vector<SimdLevel>& simd_levels() {
  // Highway gives better targets lower bits. The lowest level needs no instruction set of its own,
  // so SupportedTargets() may leave it out, but it was compiled and runs everywhere.
  static const std::vector<SimdLevel> levels = [] {
    std::vector<SimdLevel> found;
    int64_t left = HWY_TARGETS & (hwy::SupportedTargets() | HWY_STATIC_TARGET);
    while (left != 0) {
      const int64_t lowest = left & -left;
      found.push_back({hwy::TargetName(lowest), lowest});
      left &= left - 1;
    }
    return found;
  }();
  return levels;
}

Result<SimdLevel> find_simd_level(std::string_view name) {
  const auto& levels = simd_levels();
  if (name.empty()) return levels.front();
  std::string known;
  for (const SimdLevel& level : levels) {
    if (level.name == name) return level;
    known += known.empty() ? level.name : ", " + level.name;
  }
  return fail(
      Code::unsupported,
      fmt::format("cpu: SIMD level \"{}\" is not available, expected one of: {}", name, known));
}

}  // namespace norite::cpu
