// SPDX-License-Identifier: MIT
// metal_type_traits: what makes one type from another.
#pragma once
#include "shim/config.h"
#include "shim/types.h"

namespace metal {

template <class T, T Value>
struct integral_constant {
  static constexpr T value = Value;
  using value_type = T;
  using type = integral_constant;
  NORITE_MSL_INLINE constexpr operator T() const { return Value; }
  NORITE_MSL_INLINE constexpr T operator()() const { return Value; }
};
template <bool Value>
using bool_constant = integral_constant<bool, Value>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool Condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;

template <bool Condition, class T, class F>
struct conditional {
  using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
  using type = F;
};
template <bool Condition, class T, class F>
using conditional_t = typename conditional<Condition, T, F>::type;

template <class T>
struct remove_const {
  using type = T;
};
template <class T>
struct remove_const<const T> {
  using type = T;
};
template <class T>
struct remove_volatile {
  using type = T;
};
template <class T>
struct remove_volatile<volatile T> {
  using type = T;
};
template <class T>
struct remove_cv {
  using type = typename remove_const<typename remove_volatile<T>::type>::type;
};
template <class T>
struct remove_reference {
  using type = T;
};
template <class T>
struct remove_reference<T&> {
  using type = T;
};
template <class T>
struct remove_reference<T&&> {
  using type = T;
};
template <class T>
struct remove_pointer {
  using type = T;
};
template <class T>
struct remove_pointer<T*> {
  using type = T;
};
template <class T>
struct remove_pointer<T* const> {
  using type = T;
};
template <class T>
struct remove_extent {
  using type = T;
};
template <class T>
struct remove_extent<T[]> {
  using type = T;
};
template <class T, size_t N>
struct remove_extent<T[N]> {
  using type = T;
};
template <class T>
struct add_const {
  using type = const T;
};
template <class T>
struct add_pointer {
  using type = typename remove_reference<T>::type*;
};
template <class T>
struct add_lvalue_reference {
  using type = T&;
};
// Address spaces are gone before this text is compiled.
template <class T>
struct remove_addrspace {
  using type = T;
};
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_volatile_t = typename remove_volatile<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
using remove_extent_t = typename remove_extent<T>::type;
template <class T>
using add_const_t = typename add_const<T>::type;
template <class T>
using add_pointer_t = typename add_pointer<T>::type;
template <class T>
using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T>
using remove_addrspace_t = T;
template <class T>
struct decay {
  using type = remove_cv_t<remove_reference_t<T>>;
};
template <class T>
using decay_t = typename decay<T>::type;

template <class T>
T&& declval() noexcept;

template <class T>
struct underlying_type {
  using type = __underlying_type(T);
};
template <class T>
using underlying_type_t = typename underlying_type<T>::type;

template <class T>
struct make_unsigned;
template <class T>
struct make_signed;
#define NORITE_MSL_SIGNS(Signed, Unsigned) \
  template <>                              \
  struct make_unsigned<Signed> {           \
    using type = Unsigned;                 \
  };                                       \
  template <>                              \
  struct make_signed<Signed> {             \
    using type = Signed;                   \
  };
NORITE_MSL_SIGNS(char, uchar)
NORITE_MSL_SIGNS(signed char, uchar)
NORITE_MSL_SIGNS(short, ushort)
NORITE_MSL_SIGNS(int, uint)
NORITE_MSL_SIGNS(long, ulong)
#undef NORITE_MSL_SIGNS
#define NORITE_MSL_SIGNS(Signed, Unsigned) \
  template <>                              \
  struct make_unsigned<Unsigned> {         \
    using type = Unsigned;                 \
  };                                       \
  template <>                              \
  struct make_signed<Unsigned> {           \
    using type = Signed;                   \
  };
NORITE_MSL_SIGNS(char, uchar)
NORITE_MSL_SIGNS(short, ushort)
NORITE_MSL_SIGNS(int, uint)
NORITE_MSL_SIGNS(long, ulong)
#undef NORITE_MSL_SIGNS
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
using make_signed_t = typename make_signed<T>::type;

template <class T>
struct remove_all_extents {
  using type = T;
};
template <class T, size_t N>
struct remove_all_extents<T[N]> : remove_all_extents<T> {};
template <class T>
using remove_all_extents_t = typename remove_all_extents<T>::type;

template <class T>
struct add_volatile {
  using type = volatile T;
};
template <class T>
struct add_cv {
  using type = const volatile T;
};
template <class T>
struct add_rvalue_reference {
  using type = T&&;
};
template <class T>
using add_volatile_t = typename add_volatile<T>::type;
template <class T>
using add_cv_t = typename add_cv<T>::type;
template <class T>
using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;

template <class... T>
struct common_type {};
template <class T>
struct common_type<T> : decay<T> {};
template <class A, class B, class... Rest>
struct common_type<A, B, Rest...>
    : common_type<decay_t<decltype(false ? declval<A>() : declval<B>())>, Rest...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;

}  // namespace metal
