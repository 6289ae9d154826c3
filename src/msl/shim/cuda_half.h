// SPDX-License-Identifier: MIT
// half and bfloat as classes. Arithmetic is done in float and rounded once, which is exact enough:
// a float holds the sum, product or quotient of two with more than twice their digits. Operands
// meet where they would if these were builtin types: an integer follows them, they follow a float.
#pragma once
#include "shim/config.h"
#include "shim/half_bits.h"
#include "shim/traits.h"
#include "shim/types.h"

namespace norite_msl {

template <class X>
inline constexpr bool kNarrow = false;
template <bool Brain>
inline constexpr bool kNarrow<Narrow<Brain>> = true;

/// What these convert from, each other excepted.
template <class X>
inline constexpr bool kBuiltin = (kScalar<X> != kNoScalar && !kNarrow<X>) || __is_enum(X);

NORITE_MSL_INLINE ushort rounded_half(float x) {
  ushort bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
NORITE_MSL_INLINE ushort rounded_bfloat(float x) {
#if __CUDA_ARCH__ >= 800
  ushort bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  return bfloat_bits(x);
#endif
}

NORITE_MSL_INLINE float widened_half(ushort bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

template <class A, class B,
          bool = (kNarrow<A> || kBuiltin<A>) && (kNarrow<B> || kBuiltin<B>) &&
                 (kNarrow<A> || kNarrow<B>)>
struct Met {};
template <class A>
struct Met<A, A, true> {
  using type = A;
};
template <class A, class B>
struct Met<A, B, true> {
  template <class X>
  static constexpr bool kWhole = kBuiltin<X> && kScalar<X> != kFloating;
  using type = metal::conditional_t<kWhole<B>, A, metal::conditional_t<kWhole<A>, B, float>>;
};
/// The type in which two operands meet, one of which at least is half or bfloat.
template <class A, class B>
using met_t = typename Met<A, B>::type;

template <bool Brain>
struct Narrow {
  ushort bits;

  Narrow() = default;
  NORITE_MSL_INLINE constexpr Narrow(float x) : bits(rounded(x)) {}
  template <class X, metal::enable_if_t<kBuiltin<X>, int> = 0>
  NORITE_MSL_INLINE constexpr Narrow(X x) : Narrow(float(x)) {}
  NORITE_MSL_INLINE constexpr explicit Narrow(Narrow<!Brain> x) : Narrow(float(x)) {}

  NORITE_MSL_INLINE constexpr operator float() const {
    if constexpr (Brain) {
      return __builtin_bit_cast(float, uint(bits) << 16);
    } else {
      return __builtin_is_constant_evaluated() ? float_of_half_bits(bits) : widened_half(bits);
    }
  }

#define NORITE_MSL_COMPOUND(op)                             \
  template <class X, class = met_t<Narrow, X>>              \
  NORITE_MSL_INLINE constexpr Narrow& operator op##=(X x) { \
    return *this = Narrow(*this op x);                      \
  }
  NORITE_MSL_COMPOUND(+)
  NORITE_MSL_COMPOUND(-)
  NORITE_MSL_COMPOUND(*)
  NORITE_MSL_COMPOUND(/)
#undef NORITE_MSL_COMPOUND
  NORITE_MSL_INLINE constexpr Narrow& operator++() { return *this += 1; }
  NORITE_MSL_INLINE constexpr Narrow& operator--() { return *this -= 1; }
  NORITE_MSL_INLINE constexpr Narrow operator++(int) {
    const Narrow before = *this;
    *this += 1;
    return before;
  }
  NORITE_MSL_INLINE constexpr Narrow operator--(int) {
    const Narrow before = *this;
    *this -= 1;
    return before;
  }

 private:
  static NORITE_MSL_INLINE constexpr ushort rounded(float x) {
    if (__builtin_is_constant_evaluated()) return Brain ? bfloat_bits(x) : half_bits(x);
    return Brain ? rounded_bfloat(x) : rounded_half(x);
  }
};

#define NORITE_MSL_ARITHMETIC(op)                       \
  template <class A, class B, class R = met_t<A, B>>    \
  NORITE_MSL_INLINE constexpr R operator op(A a, B b) { \
    return R(float(R(a)) op float(R(b)));               \
  }
NORITE_MSL_ARITHMETIC(+)
NORITE_MSL_ARITHMETIC(-)
NORITE_MSL_ARITHMETIC(*)
NORITE_MSL_ARITHMETIC(/)
#undef NORITE_MSL_ARITHMETIC

#define NORITE_MSL_COMPARISON(op)                          \
  template <class A, class B, class R = met_t<A, B>>       \
  NORITE_MSL_INLINE constexpr bool operator op(A a, B b) { \
    return float(R(a)) op float(R(b));                     \
  }
NORITE_MSL_COMPARISON(==)
NORITE_MSL_COMPARISON(!=)
NORITE_MSL_COMPARISON(<)
NORITE_MSL_COMPARISON(<=)
NORITE_MSL_COMPARISON(>)
NORITE_MSL_COMPARISON(>=)
#undef NORITE_MSL_COMPARISON

template <bool Brain>
NORITE_MSL_INLINE constexpr Narrow<Brain> operator+(Narrow<Brain> x) {
  return x;
}
template <bool Brain>
NORITE_MSL_INLINE constexpr Narrow<Brain> operator-(Narrow<Brain> x) {
  x.bits ^= 0x8000;
  return x;
}

/// An operand of a conditional, of type A beside one of type B: as the type in which they meet if
/// one of them is half or bfloat, else as it is.
template <class A, class B>
NORITE_MSL_INLINE constexpr decltype(auto) meet(A operand) {
  using Own = metal::decay_t<A>;
  using Other = metal::decay_t<B>;
  if constexpr ((kNarrow<Own> || kNarrow<Other>) && !metal::is_same_v<Own, Other> &&
                (kNarrow<Own> || kBuiltin<Own>) && (kNarrow<Other> || kBuiltin<Other>)) {
    return met_t<Own, Other>(operand);
  } else if constexpr (metal::is_pointer_v<Other> && metal::is_integral_v<Own>) {
    return Other(nullptr);
  } else {
    return static_cast<A>(operand);
  }
}

}  // namespace norite_msl
