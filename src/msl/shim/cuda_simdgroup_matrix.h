// SPDX-License-Identifier: MIT
// The product of matrices that are spread over a simdgroup, by shuffles.
#pragma once
#include "shim/config.h"
#include "shim/cuda_lanes.h"
#include "shim/matrix_place.h"
#include "shim/vec.h"

namespace norite_msl {

/// The lane that holds (row, column), column even: the inverse of MatrixPlace::of.
NORITE_MSL_INLINE constexpr uint lane_of_place(uint row, uint column) {
  return (row & 4) * 4 + (column & 4) * 2 + (row & 3) * 2 + (column & 2) / 2;
}

/// d = a * b + c in float, k ascending, rounded once to D.
template <class D, class A, class B, class C>
NORITE_MSL_INLINE metal::vec<D, 2> multiply_accumulate(metal::vec<A, 2> a, metal::vec<B, 2> b,
                                                       metal::vec<C, 2> c) {
  const MatrixPlace at = MatrixPlace::own();
  float x = float(c.x), y = float(c.y);
#pragma unroll
  for (uint k = 0; k < 8; k += 2) {
    const metal::vec<A, 2> left = from_lane(a, lane_of_place(at.row, k));
    const metal::vec<B, 2> even = from_lane(b, lane_of_place(k, at.column));
    const metal::vec<B, 2> odd = from_lane(b, lane_of_place(k + 1, at.column));
    x = x + float(left.x) * float(even.x);
    y = y + float(left.x) * float(even.y);
    x = x + float(left.y) * float(odd.x);
    y = y + float(left.y) * float(odd.y);
  }
  return metal::vec<D, 2>(D(x), D(y));
}

}  // namespace norite_msl
