// SPDX-License-Identifier: MIT
// How functions take scalars and vectors alike: the common type of their arguments, and the
// application of a function of scalars to each component.
#pragma once
#include "shim/config.h"
#include "shim/traits.h"
#include "shim/vec.h"

namespace norite_msl {

/// What an argument counts as: packed vectors are vectors, bool is promoted to int, a double (an
/// unsuffixed literal) is a float, and a class or enumeration is the scalar it converts to.
template <class X, class = void>
struct Argument {};
template <class X>
struct Argument<X, metal::enable_if_t<kScalar<X> != kNoScalar>> {
  using type = X;
};
template <>
struct Argument<bool> {
  using type = int;
};
template <>
struct Argument<double> {
  using type = float;
};
template <class T, int N>
struct Argument<metal::vec<T, N>> {
  using type = metal::vec<T, N>;
};
template <class T, int N>
struct Argument<metal::packed_vec<T, N>> {
  using type = metal::vec<T, N>;
};
template <class X>
struct Argument<X,
                metal::enable_if_t<kScalar<X> == kNoScalar &&
                                   kScalar<decltype(+metal::declval<const X&>())> != kNoScalar>> {
  using type = decltype(+metal::declval<const X&>());
};

template <class X>
struct ElementOf {
  using type = X;
};
template <class T, int N>
struct ElementOf<metal::vec<T, N>> {
  using type = T;
};
template <class T, int N>
struct ElementOf<metal::packed_vec<T, N>> {
  using type = T;
};
template <class X>
using element_t = typename ElementOf<X>::type;

/// The type two arguments meet in: a scalar follows a vector's component type (not a floating
/// scalar an integer's), integers follow a floating type, two floating types meet in float, two
/// integers where C++ has them meet.
template <class V, class S, bool = kScalar<element_t<V>> == kFloating || kScalar<S> != kFloating>
struct Broadcast {};
template <class V, class S>
struct Broadcast<V, S, true> {
  using type = V;
};
template <class A, class B, bool = kScalar<A> == kFloating, bool = kScalar<B> == kFloating>
struct ScalarCommon {
  using type = float;
};
template <class A>
struct ScalarCommon<A, A, true, true> {
  using type = A;
};
template <class A, class B>
struct ScalarCommon<A, B, true, false> {
  using type = A;
};
template <class A, class B>
struct ScalarCommon<A, B, false, true> {
  using type = B;
};
template <class A, class B>
struct ScalarCommon<A, B, false, false> {
  using type = decltype(A() + B());
};
template <class A>
struct ScalarCommon<A, A, false, false> {
  using type = A;
};

template <class A, class B, bool = kIsVector<A>, bool = kIsVector<B>>
struct Common2 : ScalarCommon<A, B> {};
template <class A>
struct Common2<A, A, true, true> {
  using type = A;
};
template <class A, class B>
struct Common2<A, B, true, true> {};
template <class A, class B>
struct Common2<A, B, true, false> : Broadcast<A, B> {};
template <class A, class B>
struct Common2<A, B, false, true> : Broadcast<B, A> {};

template <class...>
using Void = void;
template <class, class... X>
struct CommonOf {};
template <class A>
struct CommonOf<void, A> {
  using type = A;
};
template <class A, class B, class... Rest>
struct CommonOf<Void<typename Common2<A, B>::type>, A, B, Rest...>
    : CommonOf<void, typename Common2<A, B>::type, Rest...> {};

template <class... X>
using common_t = typename CommonOf<void, typename Argument<X>::type...>::type;

/// The common type of a function of floating numbers, for which a scalar integer is a float.
template <class R>
using floating_t = typename metal::enable_if<
    kScalar<element_t<R>> == kFloating || !kIsVector<R>,
    metal::conditional_t<kScalar<element_t<R>> == kFloating, R, float>>::type;
template <class... X>
using real_t = floating_t<common_t<X...>>;

/// The common type of a function of integers.
template <class... X>
using integer_t =
    metal::enable_if_t<metal::is_integral_v<element_t<common_t<X...>>>, common_t<X...>>;

/// The same shape with another component type.
template <class R, class T>
struct Rebound {
  using type = T;
};
template <class U, int N, class T>
struct Rebound<metal::vec<U, N>, T> {
  using type = metal::vec<T, N>;
};
template <class R, class T>
using rebind_t = typename Rebound<R, T>::type;
template <class R>
using bool_t = rebind_t<R, bool>;

/// f of each component of the arguments, which are first converted to R's component type.
template <class R, class F, class... X>
NORITE_MSL_INLINE constexpr auto map(F f, const X&... x) {
  using T = element_t<R>;
  if constexpr (!kIsVector<R>) {
    return f(component<T, 0>(x)...);
  } else {
    using Result = metal::vec<decltype(f(component<T, 0>(x)...)), kCount<R>>;
    if constexpr (kCount<R> == 2) {
      return Result(f(component<T, 0>(x)...), f(component<T, 1>(x)...));
    } else if constexpr (kCount<R> == 3) {
      return Result(f(component<T, 0>(x)...), f(component<T, 1>(x)...), f(component<T, 2>(x)...));
    } else {
      return Result(f(component<T, 0>(x)...), f(component<T, 1>(x)...), f(component<T, 2>(x)...),
                    f(component<T, 3>(x)...));
    }
  }
}

}  // namespace norite_msl
