// SPDX-License-Identifier: MIT
// From what the executor binds to the parameters of a kernel function, whatever their types.
#pragma once
#include "shim/abi.h"
#include "shim/config.h"
#include "shim/vec.h"

namespace norite_msl {

template <unsigned I, class First, class... Rest>
struct Nth {
  using type = typename Nth<I - 1, Rest...>::type;
};
template <class First, class... Rest>
struct Nth<0, First, Rest...> {
  using type = First;
};
template <class F, unsigned I>
struct Parameter;
template <class R, class... X, unsigned I>
struct Parameter<R (*)(X...), I> {
  using type = typename Nth<I, X...>::type;
};
template <class F, unsigned I>
using parameter_t = typename Parameter<F, I>::type;

/// A pointer or a reference to what is bound.
template <class P>
struct Bound;
template <class T>
struct Bound<T*> {
  static NORITE_MSL_INLINE T* to(void* memory) { return static_cast<T*>(memory); }
};
template <class T>
struct Bound<T&> {
  static NORITE_MSL_INLINE T& to(void* memory) { return *static_cast<T*>(memory); }
};

template <class F, unsigned I>
NORITE_MSL_INLINE parameter_t<F, I> buffer_argument(const Arguments* arguments, unsigned index) {
  return Bound<parameter_t<F, I>>::to(arguments->buffer[index]);
}

template <class F, unsigned I>
NORITE_MSL_INLINE parameter_t<F, I> threadgroup_argument(const Arguments* arguments,
                                                         unsigned index) {
  return Bound<parameter_t<F, I>>::to(arguments->threadgroup[index]);
}

/// A position in as many components as the parameter has.
template <class P>
struct Place {
  static NORITE_MSL_INLINE P from(Uint3 place) { return P(place.x); }
};
template <class T>
struct Place<metal::vec<T, 2>> {
  static NORITE_MSL_INLINE metal::vec<T, 2> from(Uint3 place) { return {place.x, place.y}; }
};
template <class T>
struct Place<metal::vec<T, 3>> {
  static NORITE_MSL_INLINE metal::vec<T, 3> from(Uint3 place) {
    return {place.x, place.y, place.z};
  }
};

template <class F, unsigned I>
NORITE_MSL_INLINE parameter_t<F, I> place_argument(Uint3 place) {
  return Place<parameter_t<F, I>>::from(place);
}
template <class F, unsigned I>
NORITE_MSL_INLINE parameter_t<F, I> place_argument(unsigned place) {
  return parameter_t<F, I>(place);
}

template <class T>
inline constexpr unsigned long kBytes = sizeof(T);
template <>
inline constexpr unsigned long kBytes<void> = 1;
template <>
inline constexpr unsigned long kBytes<const void> = 1;

/// The bytes that a reference, or one element of a pointer, names.
template <class F, unsigned I>
constexpr unsigned long buffer_bytes() {
  return kBytes<metal::remove_pointer_t<metal::remove_reference_t<parameter_t<F, I>>>>;
}

}  // namespace norite_msl
