// SPDX-License-Identifier: MIT
// metal_numeric_limits.
#pragma once
#include "shim/config.h"
#include "shim/constants.h"
#include "shim/types.h"

namespace metal {

// Kernels specialise this one for types of their own, as Metal's headers let them.
template <class T>
struct _numeric_limits_impl {
  static constexpr bool is_specialized = false;
};
template <class T>
struct numeric_limits : _numeric_limits_impl<T> {};

#define NORITE_MSL_VALUE(name, value) \
  static NORITE_MSL_INLINE constexpr Type name() { return value; }

#define NORITE_MSL_INTEGER_LIMITS(T, least, most)             \
  template <>                                                 \
  struct _numeric_limits_impl<T> {                            \
    using Type = T;                                           \
    static constexpr bool is_specialized = true;              \
    static constexpr bool is_signed = (least) != 0;           \
    static constexpr bool is_integer = true;                  \
    static constexpr bool is_exact = true;                    \
    static constexpr bool has_infinity = false;               \
    static constexpr bool has_quiet_NaN = false;              \
    static constexpr int digits = 8 * sizeof(T) - is_signed;  \
    static constexpr int digits10 = digits * 30103L / 100000; \
    static constexpr int radix = 2;                           \
    NORITE_MSL_VALUE(min, least)                              \
    NORITE_MSL_VALUE(lowest, least)                           \
    NORITE_MSL_VALUE(max, most)                               \
    NORITE_MSL_VALUE(epsilon, 0)                              \
    NORITE_MSL_VALUE(infinity, 0)                             \
    NORITE_MSL_VALUE(quiet_NaN, 0)                            \
  };

#define NORITE_MSL_FLOATING_LIMITS(T, PREFIX, bits, infinity_bits, nan_bits) \
  template <>                                                                \
  struct _numeric_limits_impl<T> {                                           \
    using Type = T;                                                          \
    static constexpr bool is_specialized = true;                             \
    static constexpr bool is_signed = true;                                  \
    static constexpr bool is_integer = false;                                \
    static constexpr bool is_exact = false;                                  \
    static constexpr bool has_infinity = true;                               \
    static constexpr bool has_quiet_NaN = true;                              \
    static constexpr int digits = PREFIX##_MANT_DIG;                         \
    static constexpr int digits10 = PREFIX##_DIG;                            \
    static constexpr int radix = 2;                                          \
    NORITE_MSL_VALUE(min, PREFIX##_MIN)                                      \
    NORITE_MSL_VALUE(lowest, -PREFIX##_MAX)                                  \
    NORITE_MSL_VALUE(max, PREFIX##_MAX)                                      \
    NORITE_MSL_VALUE(epsilon, PREFIX##_EPSILON)                              \
    NORITE_MSL_VALUE(round_error, T(0.5f))                                   \
    NORITE_MSL_VALUE(infinity, __builtin_bit_cast(T, bits(infinity_bits)))   \
    NORITE_MSL_VALUE(quiet_NaN, __builtin_bit_cast(T, bits(nan_bits)))       \
  };

NORITE_MSL_INTEGER_LIMITS(bool, false, true)
NORITE_MSL_INTEGER_LIMITS(char, CHAR_MIN, CHAR_MAX)
NORITE_MSL_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX)
NORITE_MSL_INTEGER_LIMITS(uchar, 0, UCHAR_MAX)
NORITE_MSL_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX)
NORITE_MSL_INTEGER_LIMITS(ushort, 0, USHRT_MAX)
NORITE_MSL_INTEGER_LIMITS(int, INT_MIN, INT_MAX)
NORITE_MSL_INTEGER_LIMITS(uint, 0, UINT_MAX)
NORITE_MSL_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX)
NORITE_MSL_INTEGER_LIMITS(ulong, 0, ULONG_MAX)
NORITE_MSL_FLOATING_LIMITS(half, HALF, ushort, 0x7c00, 0x7e00)
NORITE_MSL_FLOATING_LIMITS(bfloat, BFLT, ushort, 0x7f80, 0x7fc0)
NORITE_MSL_FLOATING_LIMITS(float, FLT, uint, 0x7f800000, 0x7fc00000)

#undef NORITE_MSL_VALUE
#undef NORITE_MSL_INTEGER_LIMITS
#undef NORITE_MSL_FLOATING_LIMITS

}  // namespace metal
