// SPDX-License-Identifier: MIT
// The product of matrices that are spread over a simdgroup, made once for all its lanes.
#pragma once
#include "shim/config.h"
#include "shim/cpu_lanes.h"
#include "shim/matrix_place.h"
#include "shim/vec.h"

namespace norite_msl {

/// What a lane brings to a product and takes away from it.
template <class D, class A, class B, class C>
struct MatrixTerms {
  metal::vec<A, 2> a;
  metal::vec<B, 2> b;
  metal::vec<C, 2> c;
  metal::vec<D, 2> d;
};

/// d = a * b + c in float, k ascending, rounded once to D.
template <class D, class A, class B, class C>
NORITE_MSL_UNCHECKED static void multiply_lanes(unsigned char* slots, unsigned active) {
  LaneValues<MatrixTerms<D, A, B, C>> lanes{slots};
  float a[8][8] = {}, b[8][8] = {}, c[8][8] = {};
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    const MatrixTerms<D, A, B, C> terms = lanes.get(lane);
    const MatrixPlace at = MatrixPlace::of(lane);
    for (uint i = 0; i < 2; ++i) {
      a[at.row][at.column + i] = float(terms.a[i]);
      b[at.row][at.column + i] = float(terms.b[i]);
      c[at.row][at.column + i] = float(terms.c[i]);
    }
  }
  for (int row = 0; row < 8; ++row) {
    for (int k = 0; k < 8; ++k) {
      for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
    }
  }
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    if (!has_lane(active, lane)) continue;
    MatrixTerms<D, A, B, C> terms = lanes.get(lane);
    const MatrixPlace at = MatrixPlace::of(lane);
    for (uint i = 0; i < 2; ++i) terms.d[i] = D(c[at.row][at.column + i]);
    lanes.set(lane, terms);
  }
}

template <class D, class A, class B, class C>
NORITE_MSL_COLLECTIVE metal::vec<D, 2> multiply_accumulate(metal::vec<A, 2> a, metal::vec<B, 2> b,
                                                           metal::vec<C, 2> c) {
  const MatrixTerms<D, A, B, C> mine = {a, b, c, metal::vec<D, 2>(D(0))};
  return exchange_lanes(mine, multiply_lanes<D, A, B, C>).d;
}

}  // namespace norite_msl
