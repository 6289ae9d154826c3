// SPDX-License-Identifier: MIT
// Element values on the host: all as doubles, which hold every storage dtype exactly.
#pragma once

#include <norite/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace norite::cases {

using Values = std::vector<double>;

enum class FillKind : uint8_t {
  normal,  ///< mean 0, variance 1
  /// Rows of activations take turns: ordinary, one NaN, one +inf, one −inf, subnormals, −0, huge,
  /// mixed scales.
  special,
  none,  ///< tensors are not written at all: for recording without running
};

/// The same values for the same seed on every machine.
Values random_values(std::string_view seed, int64_t count);
/// Overwrites rows of length `dim` with the values that FillKind::special names.
void make_special(Values& values, int64_t dim, DType dtype, std::string_view seed);

/// Rounds to the dtype (nearest even) and back.
double round_to(DType dtype, double value);

/// Values to memory and back, rounding to nearest even.
std::vector<std::byte> encode(DType dtype, std::span<const double> values);
double decode(DType dtype, const std::byte* element);
/// Elements that lie `step_bytes` apart.
void decode(DType dtype, const std::byte* first, int64_t step_bytes, std::span<double> to);

}  // namespace norite::cases
