// SPDX-License-Identifier: MIT
// metal_geometric. half and bfloat are computed in float and rounded once.
#pragma once
#include "shim/config.h"
#include "shim/elementwise.h"
#include "shim/math.h"
#include "shim/operators.h"

namespace norite_msl {

/// The common type, if it is a vector of floating numbers.
template <class... X>
using real_vector_t = metal::enable_if_t<kIsVector<common_t<X...>>, real_t<X...>>;

template <class R>
using wide_t = metal::vec<float, kCount<R>>;

/// To float and back, which is no step for float itself.
template <class R, class X>
NORITE_MSL_INLINE constexpr R to(const X& x) {
  return map<R>(NORITE_MSL_EACH(element_t<R> c) { return c; }, x);
}

template <int N>
NORITE_MSL_INLINE constexpr float dot_f32(metal::vec<float, N> a, metal::vec<float, N> b) {
  if constexpr (N == 2) {
    return a.x * b.x + a.y * b.y;
  } else if constexpr (N == 3) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
  } else {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
}
template <int N>
NORITE_MSL_INLINE constexpr float length_f32(metal::vec<float, N> a) {
  return sqrt_f32(dot_f32(a, a));
}

}  // namespace norite_msl

namespace metal {

template <class A, class B, class R = norite_msl::real_vector_t<A, B>>
NORITE_MSL_INLINE constexpr norite_msl::element_t<R> dot(A a, B b) {
  using W = norite_msl::wide_t<R>;
  return norite_msl::element_t<R>(norite_msl::dot_f32(norite_msl::to<W>(a), norite_msl::to<W>(b)));
}

template <class A, class R = norite_msl::real_vector_t<A>>
NORITE_MSL_INLINE constexpr norite_msl::element_t<R> length_squared(A a) {
  return dot(a, a);
}

template <class A, class R = norite_msl::real_vector_t<A>>
NORITE_MSL_INLINE constexpr norite_msl::element_t<R> length(A a) {
  return norite_msl::element_t<R>(norite_msl::length_f32(norite_msl::to<norite_msl::wide_t<R>>(a)));
}

template <class A, class B, class R = norite_msl::real_vector_t<A, B>>
NORITE_MSL_INLINE constexpr norite_msl::element_t<R> distance_squared(A a, B b) {
  using W = norite_msl::wide_t<R>;
  const W between = norite_msl::to<W>(a) - norite_msl::to<W>(b);
  return norite_msl::element_t<R>(norite_msl::dot_f32(between, between));
}

template <class A, class B, class R = norite_msl::real_vector_t<A, B>>
NORITE_MSL_INLINE constexpr norite_msl::element_t<R> distance(A a, B b) {
  using W = norite_msl::wide_t<R>;
  return norite_msl::element_t<R>(
      norite_msl::length_f32(norite_msl::to<W>(a) - norite_msl::to<W>(b)));
}

template <class A, class R = norite_msl::real_vector_t<A>>
NORITE_MSL_INLINE constexpr R normalize(A a) {
  using W = norite_msl::wide_t<R>;
  const W v = norite_msl::to<W>(a);
  return norite_msl::to<R>(v * norite_msl::rsqrt_f32(norite_msl::dot_f32(v, v)));
}

template <class A, class B, class R = norite_msl::real_vector_t<A, B>,
          enable_if_t<norite_msl::kCount<R> == 3, int> = 0>
NORITE_MSL_INLINE constexpr R cross(A a0, B b0) {
  using W = norite_msl::wide_t<R>;
  const W a = norite_msl::to<W>(a0), b = norite_msl::to<W>(b0);
  return norite_msl::to<R>(W(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x));
}

template <class N, class I, class F, class R = norite_msl::real_vector_t<N, I, F>>
NORITE_MSL_INLINE constexpr R faceforward(N normal, I incident, F reference) {
  return dot(R(reference), R(incident)) < norite_msl::element_t<R>(0) ? R(normal) : -R(normal);
}

template <class I, class N, class R = norite_msl::real_vector_t<I, N>>
NORITE_MSL_INLINE constexpr R reflect(I incident0, N normal0) {
  using W = norite_msl::wide_t<R>;
  const W incident = norite_msl::to<W>(incident0), normal = norite_msl::to<W>(normal0);
  return norite_msl::to<R>(incident - 2.0f * norite_msl::dot_f32(normal, incident) * normal);
}

template <class I, class N, class E, class R = norite_msl::real_vector_t<I, N>>
NORITE_MSL_INLINE constexpr R refract(I incident0, N normal0, E ratio0) {
  using W = norite_msl::wide_t<R>;
  const W incident = norite_msl::to<W>(incident0), normal = norite_msl::to<W>(normal0);
  const float ratio = float(ratio0);
  const float cosine = norite_msl::dot_f32(normal, incident);
  const float k = 1.0f - ratio * ratio * (1.0f - cosine * cosine);
  if (k < 0.0f) return R(0);
  return norite_msl::to<R>(ratio * incident - (ratio * cosine + norite_msl::sqrt_f32(k)) * normal);
}

}  // namespace metal
