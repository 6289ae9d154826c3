// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>

#include <functional>
#include <vector>

namespace norite::cli {

double median(std::vector<double> values);

/// What one call takes by the host's clock, in microseconds: the median of at least so many calls,
/// and of so many seconds of them.
Result<double> median_us(double min_time_s, size_t min_repeats,
                         const std::function<Result<void>()>& run);

}  // namespace norite::cli
