// SPDX-License-Identifier: MIT
#include "cli/host_time.hpp"

#include <algorithm>
#include <chrono>

namespace norite::cli {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<double> median_us(double min_time_s, size_t min_repeats,
                         const std::function<Result<void>()>& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  NORITE_TRY(run());  // warms caches and clocks
  const auto start = Clock::now();
  while (times.size() < min_repeats ||
         std::chrono::duration<double>(Clock::now() - start).count() < min_time_s) {
    const auto begin = Clock::now();
    NORITE_TRY(run());
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return median(std::move(times));
}

}  // namespace norite::cli
