// SPDX-License-Identifier: MIT
// The elementwise functions in float64.
#pragma once

#include "cases/comparison.hpp"

namespace norite::cases {

/// A function and its derivative at one point.
struct Point {
  Expected value;
  Expected slope;
};

Point silu_at(double x);
Point gelu_at(double x);
Point gelu_tanh_at(double x);
Point softcap_at(double x, double cap);

/// A factor of f32 times what was computed: below the normal range f32 loses bits that the factor
/// enlarges.
Expected times(const Expected& computed, double factor);

}  // namespace norite::cases
