// SPDX-License-Identifier: MIT
// metal_simdgroup_matrix: an 8x8 matrix spread over the lanes of a simdgroup, two neighbours of a
// row to a lane.
#pragma once
#include "shim/config.h"
#include "shim/cpu_simdgroup_matrix.h"
#include "shim/matrix_place.h"
#include "shim/vec.h"

namespace metal {

template <class T, int Cols, int Rows>
struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "simdgroup matrices are 8x8");
  using storage_type = vec<T, 2>;
  storage_type elements;

  simdgroup_matrix() = default;
  NORITE_MSL_INLINE explicit simdgroup_matrix(T diagonal) {
    const auto at = norite_msl::MatrixPlace::own();
    elements = storage_type(at.row == at.column ? diagonal : T(0),
                            at.row == at.column + 1 ? diagonal : T(0));
  }
  NORITE_MSL_INLINE storage_type& thread_elements() { return elements; }
  NORITE_MSL_INLINE const storage_type& thread_elements() const { return elements; }
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int Cols, int Rows = Cols, class X>
NORITE_MSL_INLINE simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(X value) {
  simdgroup_matrix<T, Cols, Rows> m;
  m.elements = vec<T, 2>(norite_msl::convert<T>(value));
  return m;
}
template <class T, int Cols, int Rows = Cols, class X>
NORITE_MSL_INLINE simdgroup_matrix<T, Cols, Rows> make_diagonal_simdgroup_matrix(X value) {
  return simdgroup_matrix<T, Cols, Rows>(norite_msl::convert<T>(value));
}

/// The origin is (column, row) in the memory; a transposed matrix has its rows down the columns.
template <class T>
NORITE_MSL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8>& m, const T* source,
                                      ulong elements_per_row = 8, ulong2 origin = ulong2(0),
                                      bool transposed = false) {
  const auto at = norite_msl::MatrixPlace::own();
  const T* first = source + origin.y * elements_per_row + origin.x;
  const ulong along = transposed ? elements_per_row : 1;
  const ulong down = transposed ? 1 : elements_per_row;
  first += at.row * down + at.column * along;
  m.elements = vec<T, 2>(first[0], first[along]);
}

template <class T>
NORITE_MSL_INLINE void simdgroup_store(const simdgroup_matrix<T, 8, 8>& m, T* destination,
                                       ulong elements_per_row = 8, ulong2 origin = ulong2(0),
                                       bool transposed = false) {
  const auto at = norite_msl::MatrixPlace::own();
  T* first = destination + origin.y * elements_per_row + origin.x;
  const ulong along = transposed ? elements_per_row : 1;
  const ulong down = transposed ? 1 : elements_per_row;
  first += at.row * down + at.column * along;
  first[0] = m.elements.x;
  first[along] = m.elements.y;
}

template <class D, class A, class B, class C>
NORITE_MSL_COLLECTIVE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d,
                                                         const simdgroup_matrix<A, 8, 8>& a,
                                                         const simdgroup_matrix<B, 8, 8>& b,
                                                         const simdgroup_matrix<C, 8, 8>& c) {
  d.elements = norite_msl::multiply_accumulate<D>(a.elements, b.elements, c.elements);
}

template <class D, class A, class B>
NORITE_MSL_COLLECTIVE void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d,
                                              const simdgroup_matrix<A, 8, 8>& a,
                                              const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8>(0));
}

template <class A, class B>
NORITE_MSL_COLLECTIVE simdgroup_matrix<A, 8, 8> operator*(const simdgroup_matrix<A, 8, 8>& a,
                                                          const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_matrix<A, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}

}  // namespace metal
