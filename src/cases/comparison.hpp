// SPDX-License-Identifier: MIT
// How a result is held against its float64 reference.
#pragma once

#include "cases/tensor.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace norite::cases {

/// What an output element should be.
struct Expected {
  double value = 0;
  /// Sum of the absolute values of the terms that make up `value`. Errors are relative to it, so
  /// that cancellation between terms is not mistaken for a wrong result.
  double magnitude = 0;
  /// Absolute error allowed on top, for errors that do not scale with the magnitude.
  double slack = 0;
};

/// Rounding half a unit in the last place, relative to the value: 2^-24, 2^-11, 2^-8.
double unit_roundoff(DType dtype);
/// Distance between the dtype's smallest values: what rounding costs below its normal range.
double subnormal_step(DType dtype);

/// Largest |got − value| / magnitude of a right result in `output`, reached by f32 arithmetic
/// over `terms` terms and `roundings` roundings to storage.
///
/// A sum of n terms added one after another in f32 has an error that walks at random: about
/// sqrt(n)/6 units for r (which takes the square root of its sum), sqrt(n)/3 for other sums. Half
/// a sqrt(n) bounds the first by three standard deviations even with no SIMD lanes that would
/// shorten the walk; eight more units pay for the dozen single operations around the sum.
double tolerance(DType output, int64_t terms, int roundings = 1);

/// One output of a problem after its check.
struct OutputCheck {
  std::string output;
  double max_error = 0;
  double tolerance = 0;
  std::string detail = {};  ///< empty, or the first thing found wrong

  [[nodiscard]] bool passed() const { return detail.empty(); }
};

struct Outcome {
  std::vector<OutputCheck> outputs;

  [[nodiscard]] bool passed() const;
  /// The output closest to, or furthest beyond, its tolerance.
  [[nodiscard]] const OutputCheck& worst() const;
};

/// A tensor that came from elsewhere.
struct Given {
  std::string label;  ///< what to call it in reports
  Shape shape;
  Values values;  ///< row-major
};
/// By tensor name.
using GivenTensors = std::map<std::string, Given, std::less<>>;

/// Compares outputs piece by piece and keeps the worst of each. A NaN where none belongs, or a
/// number where a NaN belongs, is an infinite error that no later element can hide.
class Comparison {
 public:
  /// Given results replace the values of the own reference.
  explicit Comparison(const GivenTensors& given) : given_(given) {}

  /// Compares elements from `first` on, counted row-major.
  void elements(const Tensor& output, const Snapshot& got, int64_t first,
                std::span<const Expected> expected, double tolerance);
  /// Records that memory outside the operation's outputs changed.
  void damage(const Tensor& tensor, std::string_view detail);

  /// All outputs; where results were given, those of them and what else is wrong.
  [[nodiscard]] Outcome outcome() &&;

 private:
  OutputCheck& entry(const Tensor& tensor);

  const GivenTensors& given_;
  Outcome outcome_;
};

}  // namespace norite::cases
