// SPDX-License-Identifier: MIT
// What the front end writes into a kernel's text.
#pragma once
#include "shim/arguments.h"
#include "shim/config.h"
#include "shim/traits.h"
#include "shim/vec.h"

namespace norite_msl {

/// For a parameter that a function constant leaves out: nothing is bound, nothing may be read.
template <class F, unsigned I>
NORITE_MSL_INLINE parameter_t<F, I> absent_argument() {
  return Bound<parameter_t<F, I>>::to(nullptr);
}

/// Stays undefined: a call that is still there after optimisation is an error.
template <unsigned Index, class T>
__attribute__((error("this function constant has no value, and the kernel needs one"))) T
value_of_undefined_constant();

/// A function constant without a value. It may stand where nothing comes to use it, as in
/// `is_function_constant_defined(c) ? c : 1`.
template <unsigned Index>
struct UndefinedConstant {
  template <class T>
  NORITE_MSL_INLINE constexpr operator T() const {
    return value_of_undefined_constant<Index, T>();
  }
};

/// static_cast, which clang refuses between half and bfloat.
template <class To, class From>
NORITE_MSL_INLINE constexpr To cast(From&& from) {
  using Plain = metal::remove_cv_t<metal::remove_reference_t<From>>;
  constexpr bool kSixteenBits = (metal::is_same_v<To, half> && metal::is_same_v<Plain, bfloat>) ||
                                (metal::is_same_v<To, bfloat> && metal::is_same_v<Plain, half>);
  if constexpr (kSixteenBits) {
    return static_cast<To>(static_cast<float>(from));
  } else {
    return static_cast<To>(static_cast<From&&>(from));
  }
}

}  // namespace norite_msl

namespace metal {

/// How many components a type has.
template <class T>
struct vec_elements : integral_constant<int, norite_msl::kCount<T>> {};
template <class T>
constexpr int vec_elements_v = vec_elements<T>::value;

/// Whether SIMD-group functions take a type, by the name that Metal's headers have for it.
template <class T>
struct __is_valid_simdgroup_type : bool_constant<is_arithmetic<T>::value> {};

}  // namespace metal
