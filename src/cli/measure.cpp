// SPDX-License-Identifier: MIT
#include "cli/measure.hpp"

#include "cases/timing.hpp"
#include "cli/host_time.hpp"

#include <chrono>

namespace norite::cli {
namespace {

constexpr size_t kMinRepeats = 5;
/// Less work than this may live in a cache, which sampling the roof would empty.
constexpr int64_t kCacheBytes = int64_t{64} << 20;
/// Roof samples before and after every case; between its repeats, as long as they take no more
/// time.
constexpr int kRoofSamples = 2;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// A GPU's cache is large beside what a case moves in a repeat: where the case is to come from
// memory, a copy empties it each time, and keeps the GPU busy until the case is launched.
Result<double> Meter::time_once(const cases::Problem& problem, bool from_memory) const {
  Encoder encoder = cases::timed_encoder(device_);
  NORITE_TRY(problem.encode(encoder));
  if (from_memory && !cases::runs_on_host(device_)) {
    Encoder copy = device_.encoder();
    NORITE_TRY(probe_.encode(cases::Roof::copy, copy));
    NORITE_TRY(copy.submit());
  }
  return cases::timed_run(encoder);
}

Result<double> Meter::sample_roof(cases::Roof roof) {
  NORITE_TRY_ASSIGN(const double gb_per_s, probe_.sample(roof));
  roof_samples_[roof].push_back(gb_per_s);
  return gb_per_s;
}

Result<Measurement> Meter::measure(const cases::Case& row, const cases::Problem& problem) {
  const bool in_cache = row.work.bytes() < kCacheBytes;
  std::vector<double> times, roofs;
  double case_s = 0, roof_s = 0;
  const auto sample = [&](int count) -> Result<void> {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) {
      NORITE_TRY_ASSIGN(const double gb_per_s, sample_roof(row.roof));
      roofs.push_back(gb_per_s);
    }
    roof_s += seconds_since(start);
    return {};
  };

  NORITE_TRY(sample(kRoofSamples));
  NORITE_TRY(time_once(problem, !in_cache));  // warms caches, clocks and the pool
  while (case_s < min_time_s_ || times.size() < kMinRepeats) {
    NORITE_TRY_ASSIGN(const double seconds, time_once(problem, !in_cache));
    times.push_back(seconds);
    case_s += seconds;
    if (!in_cache && roof_s <= case_s) NORITE_TRY(sample(1));
  }
  NORITE_TRY(sample(kRoofSamples));

  Measurement result{.time_us_p50 = median(times) * 1e6, .repeats = times.size()};
  result.gb_per_s = static_cast<double>(row.work.bytes()) / result.time_us_p50 / 1e3;
  result.roof_gb_per_s = median(roofs);
  result.share_of_roof = result.gb_per_s / result.roof_gb_per_s;
  return result;
}

Result<double> Meter::roof_gb_per_s(cases::Roof roof) {
  while (roof_samples_[roof].size() < kMinRepeats) NORITE_TRY(sample_roof(roof));
  return median(roof_samples_[roof]);
}

}  // namespace norite::cli
