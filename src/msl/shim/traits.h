// SPDX-License-Identifier: MIT
// metal_type_traits: what can be asked of a type.
#pragma once
#include "shim/config.h"
#include "shim/scalar_kind.h"
#include "shim/type_transforms.h"
#include "shim/types.h"

namespace metal {

template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};
template <class A, class B>
inline constexpr bool is_same_v = is_same<A, B>::value;

#define NORITE_MSL_TRAIT(name, condition)      \
  template <class T>                           \
  struct name : bool_constant<(condition)> {}; \
  template <class T>                           \
  inline constexpr bool name##_v = (condition);

NORITE_MSL_TRAIT(is_floating_point, norite_msl::kScalar<remove_cv_t<T>> == norite_msl::kFloating)
NORITE_MSL_TRAIT(is_arithmetic, norite_msl::kScalar<remove_cv_t<T>> != norite_msl::kNoScalar)
NORITE_MSL_TRAIT(is_integral, is_arithmetic_v<T> && !is_floating_point_v<T>)
NORITE_MSL_TRAIT(is_signed, norite_msl::kScalar<remove_cv_t<T>> == norite_msl::kSigned ||
                                is_floating_point_v<T>)
NORITE_MSL_TRAIT(is_unsigned, is_integral_v<T> && !is_signed_v<T>)
NORITE_MSL_TRAIT(is_void, (is_same_v<remove_cv_t<T>, void>))
NORITE_MSL_TRAIT(is_const, (!is_same_v<T, remove_const_t<T>>))
NORITE_MSL_TRAIT(is_volatile, (!is_same_v<T, remove_volatile_t<T>>))
NORITE_MSL_TRAIT(is_reference, (!is_same_v<T, remove_reference_t<T>>))
NORITE_MSL_TRAIT(is_pointer, (!is_same_v<remove_cv_t<T>, remove_pointer_t<remove_cv_t<T>>>))
NORITE_MSL_TRAIT(is_array, (!is_same_v<T, remove_extent_t<T>>))
NORITE_MSL_TRAIT(is_lvalue_reference, (is_same_v<T, remove_reference_t<T>&>))
NORITE_MSL_TRAIT(is_rvalue_reference, (is_same_v<T, remove_reference_t<T>&&>))
NORITE_MSL_TRAIT(is_fundamental, is_arithmetic_v<T> || is_void_v<T>)
NORITE_MSL_TRAIT(is_enum, __is_enum(T))
NORITE_MSL_TRAIT(is_class, __is_class(T))
NORITE_MSL_TRAIT(is_union, __is_union(T))
NORITE_MSL_TRAIT(is_scalar, is_arithmetic_v<T> || is_pointer_v<T> || is_enum_v<T>)
NORITE_MSL_TRAIT(is_trivial, __is_trivial(T))
NORITE_MSL_TRAIT(is_standard_layout, __is_standard_layout(T))
NORITE_MSL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
NORITE_MSL_TRAIT(is_default_constructible, __is_constructible(T))
#undef NORITE_MSL_TRAIT

template <class From, class To>
inline constexpr bool is_convertible_v = __is_convertible_to(From, To);
template <class From, class To>
struct is_convertible : bool_constant<is_convertible_v<From, To>> {};
template <class Base, class Derived>
inline constexpr bool is_base_of_v = __is_base_of(Base, Derived);
template <class Base, class Derived>
struct is_base_of : bool_constant<is_base_of_v<Base, Derived>> {};
template <class T, class... Args>
inline constexpr bool is_constructible_v = __is_constructible(T, Args...);
template <class T, class... Args>
struct is_constructible : bool_constant<is_constructible_v<T, Args...>> {};
template <class T, class U>
inline constexpr bool is_assignable_v = __is_assignable(T, U);
template <class T, class U>
struct is_assignable : bool_constant<is_assignable_v<T, U>> {};

template <class... B>
struct conjunction : bool_constant<(bool(B::value) && ...)> {};
template <class... B>
struct disjunction : bool_constant<(bool(B::value) || ...)> {};
template <class B>
struct negation : bool_constant<!bool(B::value)> {};
template <class... B>
inline constexpr bool conjunction_v = conjunction<B...>::value;
template <class... B>
inline constexpr bool disjunction_v = disjunction<B...>::value;
template <class B>
inline constexpr bool negation_v = negation<B>::value;
// Names of Metal's own headers that kernels are known to use.
template <class... B>
using _conjunction = conjunction<B...>;
template <class... B>
using _disjunction = disjunction<B...>;

template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T>
inline constexpr size_t alignment_of_v = alignof(T);
template <class T>
struct rank : integral_constant<size_t, 0> {};
template <class T, size_t N>
struct rank<T[N]> : integral_constant<size_t, 1 + rank<T>::value> {};
template <class T>
inline constexpr size_t rank_v = rank<T>::value;
template <class T, unsigned I = 0>
struct extent : integral_constant<size_t, 0> {};
template <class T, size_t N>
struct extent<T[N], 0> : integral_constant<size_t, N> {};
template <class T, size_t N, unsigned I>
struct extent<T[N], I> : extent<T, I - 1> {};
template <class T, unsigned I = 0>
inline constexpr size_t extent_v = extent<T, I>::value;

}  // namespace metal
