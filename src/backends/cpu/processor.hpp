// SPDX-License-Identifier: MIT
// What a device knows of the processor it runs on. Kernels are chosen by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/cpu/simd/level.hpp"

namespace norite::cpu {

struct Processor {
  SimdLevel level;
  int64_t l1_bytes = 0;  // of a core's data cache
};

/// As the system calls it.
std::string processor_name();

/// KiB of L1 data cache that a core has, where the system knows.
std::optional<int> reported_l1_kib();

}  // namespace norite::cpu
