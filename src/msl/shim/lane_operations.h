// SPDX-License-Identifier: MIT
// What lanes do with each other's values, whoever moves them.
#pragma once
#include "shim/common.h"
#include "shim/config.h"
#include "shim/operators.h"

namespace norite_msl {

struct Sum {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return T(a + b);
  }
};
struct Product {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return T(a * b);
  }
};
struct Min {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return metal::min(a, b);
  }
};
struct Max {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return metal::max(a, b);
  }
};
struct And {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return T(a & b);
  }
};
struct Or {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return T(a | b);
  }
};
struct Xor {
  template <class T>
  NORITE_MSL_INLINE constexpr T operator()(T a, T b) const {
    return T(a ^ b);
  }
};

// Which lane of its group a lane reads; Width or more for none.
struct FromLane {
  static constexpr unsigned of(unsigned, unsigned operand, unsigned) { return operand; }
};
struct FromXor {
  static constexpr unsigned of(unsigned lane, unsigned operand, unsigned) { return lane ^ operand; }
};
struct FromUp {
  static constexpr unsigned of(unsigned lane, unsigned operand, unsigned) { return lane - operand; }
};
struct FromDown {
  static constexpr unsigned of(unsigned lane, unsigned operand, unsigned) { return lane + operand; }
};
struct FromRotatedUp {
  static constexpr unsigned of(unsigned lane, unsigned operand, unsigned width) {
    return (lane - operand) % width;
  }
};
struct FromRotatedDown {
  static constexpr unsigned of(unsigned lane, unsigned operand, unsigned width) {
    return (lane + operand) % width;
  }
};

}  // namespace norite_msl
