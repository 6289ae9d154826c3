// SPDX-License-Identifier: MIT
// metal_matrix: columns of vectors.
#pragma once
#include "shim/config.h"
#include "shim/elementwise.h"
#include "shim/operators.h"

namespace norite_msl {

template <class... X>
inline constexpr bool kAllScalars = ((kCount<X> == 1) && ...);

}  // namespace norite_msl

namespace metal {

/// From columns, from C * R scalars column by column, from one scalar on the diagonal, or,
/// explicitly, from a matrix of another type.
template <class T, int C, int R>
struct matrix {
  using Column = vec<T, R>;
  Column columns[C];

  matrix() = default;
  template <class X, enable_if_t<norite_msl::kCount<X> == 1, int> = 0>
  NORITE_MSL_INLINE constexpr explicit matrix(X diagonal) : columns{} {
    for (int i = 0; i < (C < R ? C : R); ++i) columns[i][i] = T(diagonal);
  }
  template <class... X, enable_if_t<sizeof...(X) == C && (is_convertible_v<X, Column> && ...) &&
                                        !norite_msl::kAllScalars<X...>,
                                    int> = 0>
  NORITE_MSL_INLINE constexpr matrix(const X&... column) : columns{Column(column)...} {}
  template <class... X,
            enable_if_t<sizeof...(X) == C * R && norite_msl::kAllScalars<X...>, int> = 0>
  NORITE_MSL_INLINE constexpr matrix(X... x) : columns{} {
    const T values[C * R] = {norite_msl::convert<T>(x)...};
    for (int i = 0; i < C * R; ++i) columns[i / R][i % R] = values[i];
  }
  template <class U, enable_if_t<!is_same_v<T, U>, int> = 0>
  NORITE_MSL_INLINE constexpr explicit matrix(const matrix<U, C, R>& m) : columns{} {
    for (int i = 0; i < C; ++i) columns[i] = Column(m[i]);
  }

  NORITE_MSL_INLINE constexpr Column& operator[](uint i) { return columns[i]; }
  NORITE_MSL_INLINE constexpr const Column& operator[](uint i) const { return columns[i]; }
};

#define NORITE_MSL_COLUMNWISE(op)                                                         \
  template <class T, int C, int R>                                                        \
  NORITE_MSL_INLINE constexpr matrix<T, C, R> operator op(matrix<T, C, R> a,              \
                                                          const matrix<T, C, R>& b) {     \
    for (int i = 0; i < C; ++i) a[i] op## = b[i];                                         \
    return a;                                                                             \
  }                                                                                       \
  template <class T, int C, int R>                                                        \
  NORITE_MSL_INLINE constexpr matrix<T, C, R>& operator op##=(matrix<T, C, R>& a,         \
                                                              const matrix<T, C, R>& b) { \
    return a = a op b;                                                                    \
  }
NORITE_MSL_COLUMNWISE(+)
NORITE_MSL_COLUMNWISE(-)
#undef NORITE_MSL_COLUMNWISE

template <class T, int C, int R>
NORITE_MSL_INLINE constexpr matrix<T, C, R> operator-(matrix<T, C, R> a) {
  for (int i = 0; i < C; ++i) a[i] = -a[i];
  return a;
}
template <class T, int C, int R, class S, enable_if_t<norite_msl::kCount<S> == 1, int> = 0>
NORITE_MSL_INLINE constexpr matrix<T, C, R> operator*(matrix<T, C, R> a, S s) {
  for (int i = 0; i < C; ++i) a[i] *= s;
  return a;
}
template <class T, int C, int R, class S, enable_if_t<norite_msl::kCount<S> == 1, int> = 0>
NORITE_MSL_INLINE constexpr matrix<T, C, R> operator*(S s, const matrix<T, C, R>& a) {
  return a * s;
}
template <class T, int C, int R, class S, enable_if_t<norite_msl::kCount<S> == 1, int> = 0>
NORITE_MSL_INLINE constexpr matrix<T, C, R>& operator*=(matrix<T, C, R>& a, S s) {
  return a = a * s;
}

/// Columns weighted by the vector's components, added from the first on.
template <class T, int C, int R>
NORITE_MSL_INLINE constexpr vec<T, R> operator*(const matrix<T, C, R>& m, const vec<T, C>& v) {
  vec<T, R> sum = m[0] * v[0];
  for (int i = 1; i < C; ++i) sum += m[i] * v[i];
  return sum;
}

/// A row vector from the left.
template <class T, int C, int R>
NORITE_MSL_INLINE constexpr vec<T, C> operator*(const vec<T, R>& v, const matrix<T, C, R>& m) {
  vec<T, C> result = vec<T, C>(T(0));
  for (int i = 0; i < C; ++i) {
    T sum = T(v[0] * m[i][0]);
    for (int j = 1; j < R; ++j) sum = T(sum + T(v[j] * m[i][j]));
    result[i] = sum;
  }
  return result;
}

template <class T, int C, int R, int K>
NORITE_MSL_INLINE constexpr matrix<T, K, R> operator*(const matrix<T, C, R>& a,
                                                      const matrix<T, K, C>& b) {
  matrix<T, K, R> product{};
  for (int i = 0; i < K; ++i) product[i] = a * b[i];
  return product;
}
template <class T, int C, int R>
NORITE_MSL_INLINE constexpr matrix<T, C, R>& operator*=(matrix<T, C, R>& a,
                                                        const matrix<T, C, C>& b) {
  return a = a * b;
}

template <class T, int C, int R>
NORITE_MSL_INLINE constexpr bool operator==(const matrix<T, C, R>& a, const matrix<T, C, R>& b) {
  for (int i = 0; i < C; ++i) {
    for (int j = 0; j < R; ++j) {
      if (a[i][j] != b[i][j]) return false;
    }
  }
  return true;
}

template <class T, int C, int R>
NORITE_MSL_INLINE constexpr matrix<T, R, C> transpose(const matrix<T, C, R>& m) {
  matrix<T, R, C> result{};
  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < C; ++j) result[i][j] = m[j][i];
  }
  return result;
}

template <class T>
NORITE_MSL_INLINE constexpr T determinant(const matrix<T, 2, 2>& m) {
  return T(m[0].x * m[1].y - m[0].y * m[1].x);
}
template <class T>
NORITE_MSL_INLINE constexpr T determinant(const matrix<T, 3, 3>& m) {
  return T(m[0].x * (m[1].y * m[2].z - m[1].z * m[2].y) -
           m[1].x * (m[0].y * m[2].z - m[0].z * m[2].y) +
           m[2].x * (m[0].y * m[1].z - m[0].z * m[1].y));
}
/// By the first column's cofactors.
template <class T>
NORITE_MSL_INLINE constexpr T determinant(const matrix<T, 4, 4>& m) {
  T sum = T(0);
  for (int row = 0; row < 4; ++row) {
    matrix<T, 3, 3> minor{};
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) minor[i][j] = m[i + 1][j < row ? j : j + 1];
    }
    const T term = T(m[0][row] * determinant(minor));
    sum = row % 2 ? T(sum - term) : T(sum + term);
  }
  return sum;
}

#define NORITE_MSL_MATRIX_NAMES(F)                                                         \
  F(float, 2, 2)                                                                           \
  F(float, 2, 3)                                                                           \
  F(float, 2, 4)                                                                           \
  F(float, 3, 2)                                                                           \
  F(float, 3, 3) F(float, 3, 4) F(float, 4, 2) F(float, 4, 3) F(float, 4, 4) F(half, 2, 2) \
      F(half, 2, 3) F(half, 2, 4) F(half, 3, 2) F(half, 3, 3) F(half, 3, 4) F(half, 4, 2)  \
          F(half, 4, 3) F(half, 4, 4)
#define NORITE_MSL_NAME(T, C, R) using T##C##x##R = matrix<T, C, R>;
NORITE_MSL_MATRIX_NAMES(NORITE_MSL_NAME)
#undef NORITE_MSL_NAME

}  // namespace metal

#define NORITE_MSL_NAME(T, C, R) using metal::T##C##x##R;
NORITE_MSL_MATRIX_NAMES(NORITE_MSL_NAME)
#undef NORITE_MSL_NAME
#undef NORITE_MSL_MATRIX_NAMES
