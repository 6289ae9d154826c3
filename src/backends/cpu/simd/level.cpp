// SPDX-License-Identifier: MIT
#include "backends/cpu/simd/level.hpp"

#include <fmt/format.h>
#include <hwy/highway.h>

namespace norite::cpu {

namespace {

bool has_bf16_instructions() {
#if HWY_ARCH_X86
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace

const std::vector<SimdLevel>& simd_levels() {
  // Highway gives better targets lower bits. The lowest level needs no instruction set of its own,
  // so SupportedTargets() may leave it out, but it was compiled and runs everywhere.
  static const std::vector<SimdLevel> levels = [] {
    std::vector<SimdLevel> found;
    int64_t left = HWY_TARGETS & (hwy::SupportedTargets() | HWY_STATIC_TARGET);
    while (left != 0) {
      const int64_t lowest = left & -left;
      const std::string name = hwy::TargetName(lowest);
      if (lowest <= HWY_AVX3 && has_bf16_instructions()) {
        found.push_back({name + "_BF16", lowest, true});
      }
      found.push_back({name, lowest});
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
