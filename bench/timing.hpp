// SPDX-License-Identifier: MIT
// For the programs of this folder.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace norite::bench {

using Clock = std::chrono::steady_clock;

inline double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// `values` are not empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace norite::bench
