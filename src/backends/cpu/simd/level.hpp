// SPDX-License-Identifier: MIT
// Which SIMD level a device runs. Each device chooses its own, so that one process can compare
// levels and no global state of Highway changes.
#pragma once

#include <hwy/targets.h>

#include <string>
#include <string_view>
#include <vector>

#include "norite/error.hpp"

namespace norite::cpu {

struct SimdLevel {
  std::string name;         // "AVX3", "AVX2", ...
  int64_t hwy_targets = 0;  // Highway's bit of this level
  bool bf16 = false;        // and AVX512_BF16, of which Highway's levels know nothing
};

/// The levels that were compiled in and that this machine runs, the best first.
const std::vector<SimdLevel>& simd_levels();
/// The named level; the best one for an empty name. Errors: unsupported, listing what there is.
Result<SimdLevel> find_simd_level(std::string_view name);

}  // namespace norite::cpu
