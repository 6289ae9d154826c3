// SPDX-License-Identifier: MIT
// metal::vec and metal::packed_vec: construction and conversion.
#pragma once
#include "shim/components.h"
#include "shim/config.h"
#include "shim/traits.h"
#include "shim/types.h"

namespace metal {
template <class T, int N>
struct packed_vec;
}

namespace norite_msl {

/// How many components a value has; 0 if it is neither a scalar nor a vector.
template <class X>
inline constexpr int kCount = kScalar<X> != kNoScalar || __is_enum(X) ? 1 : 0;
template <class T, int N>
inline constexpr int kCount<metal::vec<T, N>> = N;
template <class T, int N>
inline constexpr int kCount<metal::packed_vec<T, N>> = N;

template <class X>
inline constexpr bool kIsVector = kCount<X> > 1;

/// Conversion of a scalar as a cast does it; half and bfloat, between which there is no cast, go
/// through float, which holds both.
template <class To, class From>
NORITE_MSL_INLINE constexpr To convert(From from) {
  constexpr bool both_narrow = kScalar<From> == kFloating && kScalar<To> == kFloating &&
                               sizeof(From) == 2 && sizeof(To) == 2;
  if constexpr (both_narrow) {
    return To(float(from));
  } else {
    return To(from);
  }
}

/// Component I of a vector, converted; of a scalar, which stands for all components: itself.
template <class T, int I, class X>
NORITE_MSL_INLINE constexpr T component(const X& x) {
  if constexpr (!kIsVector<X>) {
    return convert<T>(x);
  } else if constexpr (I == 0) {
    return convert<T>(x.x);
  } else if constexpr (I == 1) {
    return convert<T>(x.y);
  } else if constexpr (I == 2) {
    return convert<T>(x.z);
  } else {
    return convert<T>(x.w);
  }
}

/// Component I of several vectors and scalars laid end to end, or of one that is converted or
/// broadcast.
template <class T, int I, class X, class... Rest>
NORITE_MSL_INLINE constexpr T pick(const X& x, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0 || I < kCount<X>) {
    return component<T, I>(x);
  } else {
    return pick<T, I - kCount<X>>(rest...);
  }
}

template <class T, int N, bool Packed, class... X>
NORITE_MSL_INLINE constexpr Components<T, N, Packed> gather(const X&... x) {
  if constexpr (N == 2) {
    return {pick<T, 0>(x...), pick<T, 1>(x...)};
  } else if constexpr (N == 3) {
    return {pick<T, 0>(x...), pick<T, 1>(x...), pick<T, 2>(x...)};
  } else {
    return {pick<T, 0>(x...), pick<T, 1>(x...), pick<T, 2>(x...), pick<T, 3>(x...)};
  }
}

/// Whether these fill N components exactly.
template <int N, class... X>
inline constexpr bool kFills = ((kCount<X> > 0) && ...) && (kCount<X> + ...) == N;

}  // namespace norite_msl

namespace metal {

/// N components from one scalar, from any mix of scalars and vectors, or, explicitly, from a vector
/// of another type.
template <class T, int N>
struct vec : norite_msl::Components<T, N, false> {
  using Base = norite_msl::Components<T, N, false>;
  vec() = default;
  template <class X, enable_if_t<norite_msl::kCount<X> == 1, int> = 0>
  NORITE_MSL_INLINE constexpr vec(X x) : Base(norite_msl::gather<T, N, false>(x)) {}
  template <class X, class Y, class... Rest,
            enable_if_t<norite_msl::kFills<N, X, Y, Rest...>, int> = 0>
  NORITE_MSL_INLINE constexpr vec(const X& x, const Y& y, const Rest&... rest)
      : Base(norite_msl::gather<T, N, false>(x, y, rest...)) {}
  template <class U, enable_if_t<!is_same_v<T, U>, int> = 0>
  NORITE_MSL_INLINE constexpr explicit vec(const vec<U, N>& v)
      : Base(norite_msl::gather<T, N, false>(v)) {}
  NORITE_MSL_INLINE constexpr vec(const packed_vec<T, N>& v)
      : Base(norite_msl::gather<T, N, false>(v)) {}
  template <class U, enable_if_t<!is_same_v<T, U>, int> = 0>
  NORITE_MSL_INLINE constexpr explicit vec(const packed_vec<U, N>& v)
      : Base(norite_msl::gather<T, N, false>(v)) {}
};

/// The same without padding; arithmetic makes it a vec.
template <class T, int N>
struct packed_vec : norite_msl::Components<T, N, true> {
  using Base = norite_msl::Components<T, N, true>;
  packed_vec() = default;
  template <class X, enable_if_t<norite_msl::kCount<X> == 1, int> = 0>
  NORITE_MSL_INLINE constexpr packed_vec(X x) : Base(norite_msl::gather<T, N, true>(x)) {}
  template <class X, class Y, class... Rest,
            enable_if_t<norite_msl::kFills<N, X, Y, Rest...>, int> = 0>
  NORITE_MSL_INLINE constexpr packed_vec(const X& x, const Y& y, const Rest&... rest)
      : Base(norite_msl::gather<T, N, true>(x, y, rest...)) {}
  NORITE_MSL_INLINE constexpr packed_vec(const vec<T, N>& v)
      : Base(norite_msl::gather<T, N, true>(v)) {}
  template <class U, enable_if_t<!is_same_v<T, U>, int> = 0>
  NORITE_MSL_INLINE constexpr explicit packed_vec(const vec<U, N>& v)
      : Base(norite_msl::gather<T, N, true>(v)) {}
  template <class U, enable_if_t<!is_same_v<T, U>, int> = 0>
  NORITE_MSL_INLINE constexpr explicit packed_vec(const packed_vec<U, N>& v)
      : Base(norite_msl::gather<T, N, true>(v)) {}
};

#define NORITE_MSL_VECTOR_NAMES(T)        \
  using T##2 = vec<T, 2>;                 \
  using T##3 = vec<T, 3>;                 \
  using T##4 = vec<T, 4>;                 \
  using packed_##T##2 = packed_vec<T, 2>; \
  using packed_##T##3 = packed_vec<T, 3>; \
  using packed_##T##4 = packed_vec<T, 4>;
#define NORITE_MSL_SCALARS(F) \
  F(bool)                     \
  F(char) F(uchar) F(short) F(ushort) F(int) F(uint) F(long) F(ulong) F(half) F(bfloat) F(float)
NORITE_MSL_SCALARS(NORITE_MSL_VECTOR_NAMES)
#undef NORITE_MSL_VECTOR_NAMES

}  // namespace metal

#define NORITE_MSL_VECTOR_NAMES(T) \
  using metal::T##2;               \
  using metal::T##3;               \
  using metal::T##4;               \
  using metal::packed_##T##2;      \
  using metal::packed_##T##3;      \
  using metal::packed_##T##4;
NORITE_MSL_SCALARS(NORITE_MSL_VECTOR_NAMES)
#undef NORITE_MSL_VECTOR_NAMES
#undef NORITE_MSL_SCALARS
