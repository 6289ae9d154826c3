// SPDX-License-Identifier: MIT
#pragma once

#include "cases/case.hpp"
#include "cases/roof.hpp"

#include <map>
#include <vector>

namespace norite::cli {

struct Measurement {
  double time_us_p50 = 0;
  double gb_per_s = 0;
  double roof_gb_per_s = 0;  ///< measured between the repeats of this very case
  double share_of_roof = 0;
  size_t repeats = 0;
};

/// Times problems, and between their repeats the roof that bounds them: what disturbs one, disturbs
/// the other.
class Meter {
 public:
  Meter(const Device& device, cases::RoofProbe probe, double min_time_s)
      : device_(device), probe_(std::move(probe)), min_time_s_(min_time_s) {}

  [[nodiscard]] Result<Measurement> measure(const cases::Case& row, const cases::Problem& problem);
  /// The median of all measurements of a roof so far.
  [[nodiscard]] Result<double> roof_gb_per_s(cases::Roof roof);
  [[nodiscard]] const cases::RoofProbe& probe() const { return probe_; }

 private:
  Result<double> time_once(const cases::Problem& problem, bool from_memory) const;
  Result<double> sample_roof(cases::Roof roof);

  Device device_;
  cases::RoofProbe probe_;
  double min_time_s_;
  std::map<cases::Roof, std::vector<double>> roof_samples_;
};

}  // namespace norite::cli
