// SPDX-License-Identifier: MIT
// How kernels cut their work and write their results, given what the memory system likes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace norite::cpu {

/// Outputs from here on bypass the caches: they would be evicted before anyone reads them, and a
/// streaming store need not fetch the line first. A constant, about one last-level cache: in a
/// virtual machine the reported size counts caches that belong to other cores.
inline constexpr int64_t kStreamBytes = int64_t{32} << 20;

/// Rows that one task takes: enough to pay for handing it out, few enough to balance threads.
inline int64_t rows_per_task(int64_t row_bytes) {
  constexpr int64_t kTaskBytes = int64_t{128} << 10;
  return std::max<int64_t>(1, kTaskBytes / row_bytes);
}

/// How many rows ahead of its work a kernel prefetches: far enough that memory has answered.
inline int64_t rows_ahead(int64_t row_bytes) {
  constexpr int64_t kBytesAhead = int64_t{16} << 10;
  return (kBytesAhead + row_bytes - 1) / row_bytes;
}

}  // namespace norite::cpu
