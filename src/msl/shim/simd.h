// SPDX-License-Identifier: MIT
// metal_simdgroup and metal_quadgroup.
#pragma once
#include "shim/config.h"
#include "shim/cpu_lanes.h"
#include "shim/lane_operations.h"

namespace norite_msl {

/// What travels for a value of type X: vectors for packed ones.
template <class X>
using lane_t = typename metal::enable_if<(kCount<X> > 0), typename Argument<X>::type>::type;
template <class X>
using lane_integer_t = metal::enable_if_t<metal::is_integral_v<element_t<lane_t<X>>>, lane_t<X>>;

/// The lanes that voted yes.
template <unsigned Width>
struct Vote {
  using vote_t = ulong;
  ulong bits;

  Vote() = default;
  NORITE_MSL_INLINE constexpr explicit Vote(vote_t v) : bits(v) {}
  NORITE_MSL_INLINE constexpr explicit operator vote_t() const { return bits; }
  NORITE_MSL_INLINE constexpr bool all() const { return bits == (1ul << Width) - 1; }
  NORITE_MSL_INLINE constexpr bool any() const { return bits != 0; }
};

}  // namespace norite_msl

namespace metal {

using simd_vote = norite_msl::Vote<32>;
using quad_vote = norite_msl::Vote<4>;

#define NORITE_MSL_REDUCTION(prefix, width, name, Op, lane_type) \
  template <class X, class T = norite_msl::lane_type<X>>         \
  NORITE_MSL_COLLECTIVE T prefix##_##name(X x) {                 \
    return norite_msl::reduce<width, norite_msl::Op>(T(x));      \
  }
#define NORITE_MSL_SCAN(prefix, width, name, Op, neutral, inclusive)          \
  template <class X, class T = norite_msl::lane_t<X>>                         \
  NORITE_MSL_COLLECTIVE T prefix##_prefix_##name(X x) {                       \
    return norite_msl::scan<width, norite_msl::Op, neutral, inclusive>(T(x)); \
  }
#define NORITE_MSL_SHUFFLE(prefix, width, name, From)                   \
  template <class X, class T = norite_msl::lane_t<X>>                   \
  NORITE_MSL_COLLECTIVE T prefix##_##name(X x, ushort operand) {        \
    return norite_msl::shuffle<width, norite_msl::From>(T(x), operand); \
  }
#define NORITE_MSL_FILL(prefix, width, name, up)                                                 \
  template <class X, class Y, class T = norite_msl::lane_t<X>>                                   \
  NORITE_MSL_COLLECTIVE T prefix##_##name(X x, Y filling, ushort delta, ushort modulo = width) { \
    return norite_msl::shift_and_fill<width, up>(T(x), T(filling), delta, modulo);               \
  }
#define NORITE_MSL_LANE_FUNCTIONS(prefix, width)                                               \
  NORITE_MSL_REDUCTION(prefix, width, sum, Sum, lane_t)                                        \
  NORITE_MSL_REDUCTION(prefix, width, product, Product, lane_t)                                \
  NORITE_MSL_REDUCTION(prefix, width, min, Min, lane_t)                                        \
  NORITE_MSL_REDUCTION(prefix, width, max, Max, lane_t)                                        \
  NORITE_MSL_REDUCTION(prefix, width, and, And, lane_integer_t)                                \
  NORITE_MSL_REDUCTION(prefix, width, or, Or, lane_integer_t)                                  \
  NORITE_MSL_REDUCTION(prefix, width, xor, Xor, lane_integer_t)                                \
  NORITE_MSL_SCAN(prefix, width, inclusive_sum, Sum, 0, true)                                  \
  NORITE_MSL_SCAN(prefix, width, exclusive_sum, Sum, 0, false)                                 \
  NORITE_MSL_SCAN(prefix, width, inclusive_product, Product, 1, true)                          \
  NORITE_MSL_SCAN(prefix, width, exclusive_product, Product, 1, false)                         \
  NORITE_MSL_SHUFFLE(prefix, width, broadcast, FromLane)                                       \
  NORITE_MSL_SHUFFLE(prefix, width, shuffle, FromLane)                                         \
  NORITE_MSL_SHUFFLE(prefix, width, shuffle_xor, FromXor)                                      \
  NORITE_MSL_SHUFFLE(prefix, width, shuffle_up, FromUp)                                        \
  NORITE_MSL_SHUFFLE(prefix, width, shuffle_down, FromDown)                                    \
  NORITE_MSL_SHUFFLE(prefix, width, shuffle_rotate_up, FromRotatedUp)                          \
  NORITE_MSL_SHUFFLE(prefix, width, shuffle_rotate_down, FromRotatedDown)                      \
  NORITE_MSL_FILL(prefix, width, shuffle_and_fill_up, true)                                    \
  NORITE_MSL_FILL(prefix, width, shuffle_and_fill_down, false)                                 \
  template <class X, class T = norite_msl::lane_t<X>>                                          \
  NORITE_MSL_COLLECTIVE T prefix##_broadcast_first(X x) {                                      \
    return norite_msl::broadcast_first<width>(T(x));                                           \
  }                                                                                            \
  NORITE_MSL_COLLECTIVE prefix##_vote prefix##_ballot(bool x) {                                \
    return prefix##_vote(norite_msl::vote<width>(x));                                          \
  }                                                                                            \
  NORITE_MSL_COLLECTIVE prefix##_vote prefix##_active_threads_mask() {                         \
    return prefix##_vote(norite_msl::vote<width>(true));                                       \
  }                                                                                            \
  NORITE_MSL_COLLECTIVE bool prefix##_any(bool x) { return norite_msl::vote<width>(x) != 0; }  \
  NORITE_MSL_COLLECTIVE bool prefix##_all(bool x) { return norite_msl::vote<width>(!x) == 0; } \
  NORITE_MSL_COLLECTIVE bool prefix##_is_first() { return norite_msl::is_first<width>(); }

NORITE_MSL_LANE_FUNCTIONS(simd, 32)
NORITE_MSL_LANE_FUNCTIONS(quad, 4)

#undef NORITE_MSL_REDUCTION
#undef NORITE_MSL_SCAN
#undef NORITE_MSL_SHUFFLE
#undef NORITE_MSL_FILL
#undef NORITE_MSL_LANE_FUNCTIONS

}  // namespace metal
