// SPDX-License-Identifier: MIT
// The operators of vectors. A scalar operand takes the vector's component type.
#pragma once
#include "shim/config.h"
#include "shim/elementwise.h"

namespace norite_msl {

template <class A, class B>
using operands_t = typename metal::enable_if<kIsVector<A> || kIsVector<B>, common_t<A, B>>::type;
template <class A>
using operand_t = metal::enable_if_t<kIsVector<A>, common_t<A>>;

}  // namespace norite_msl

namespace metal {

#define NORITE_MSL_BINARY(op, Result, expression)                                      \
  template <class A, class B, class R = norite_msl::operands_t<A, B>>                  \
  NORITE_MSL_INLINE constexpr Result operator op(const A& a, const B& b) {             \
    using T = norite_msl::element_t<R>;                                                \
    return norite_msl::map<R>(NORITE_MSL_EACH(T x, T y) { return expression; }, a, b); \
  }
#define NORITE_MSL_ARITHMETIC(op)                                     \
  NORITE_MSL_BINARY(op, R, T(x op y))                                 \
  template <class A, class B, class R = norite_msl::operand_t<A>>     \
  NORITE_MSL_INLINE constexpr A& operator op##=(A & a, const B & b) { \
    return a = A(a op b);                                             \
  }
#define NORITE_MSL_COMPARISON(op) NORITE_MSL_BINARY(op, norite_msl::bool_t<R>, bool(x op y))
#define NORITE_MSL_UNARY(op, Result, expression)                               \
  template <class A, class R = norite_msl::operand_t<A>>                       \
  NORITE_MSL_INLINE constexpr Result operator op(const A& a) {                 \
    using T = norite_msl::element_t<R>;                                        \
    return norite_msl::map<R>(NORITE_MSL_EACH(T x) { return expression; }, a); \
  }
#define NORITE_MSL_STEP(op, by)                          \
  template <class A, class R = norite_msl::operand_t<A>> \
  NORITE_MSL_INLINE constexpr A& operator op(A & a) {    \
    return a = A(a by norite_msl::element_t<A>(1));      \
  }                                                      \
  template <class A, class R = norite_msl::operand_t<A>> \
  NORITE_MSL_INLINE constexpr A operator op(A& a, int) { \
    const A before = a;                                  \
    a = A(a by norite_msl::element_t<A>(1));             \
    return before;                                       \
  }

NORITE_MSL_ARITHMETIC(+)
NORITE_MSL_ARITHMETIC(-)
NORITE_MSL_ARITHMETIC(*)
NORITE_MSL_ARITHMETIC(/)
NORITE_MSL_ARITHMETIC(%)
NORITE_MSL_ARITHMETIC(&)
NORITE_MSL_ARITHMETIC(|)
NORITE_MSL_ARITHMETIC(^)
NORITE_MSL_ARITHMETIC(<<)
NORITE_MSL_ARITHMETIC(>>)
NORITE_MSL_COMPARISON(==)
NORITE_MSL_COMPARISON(!=)
NORITE_MSL_COMPARISON(<)
NORITE_MSL_COMPARISON(<=)
NORITE_MSL_COMPARISON(>)
NORITE_MSL_COMPARISON(>=)
NORITE_MSL_COMPARISON(&&)
NORITE_MSL_COMPARISON(||)
NORITE_MSL_UNARY(+, R, x)
NORITE_MSL_UNARY(-, R, T(-x))
NORITE_MSL_UNARY(~, R, T(~x))
NORITE_MSL_UNARY(!, norite_msl::bool_t<R>, !x)
NORITE_MSL_STEP(++, +)
NORITE_MSL_STEP(--, -)

#undef NORITE_MSL_BINARY
#undef NORITE_MSL_ARITHMETIC
#undef NORITE_MSL_COMPARISON
#undef NORITE_MSL_UNARY
#undef NORITE_MSL_STEP

}  // namespace metal
