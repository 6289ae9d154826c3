// SPDX-License-Identifier: MIT
// metal_integer. What takes more than one component at a time is made in a wider type.
#pragma once
#include "shim/config.h"
#include "shim/cpu_bits.h"
#include "shim/elementwise.h"
#include "shim/numeric_limits.h"

namespace norite_msl {

template <class T>
inline constexpr int kBits = 8 * sizeof(T);
template <class T>
using unsigned_t = metal::make_unsigned_t<T>;
template <class T>
using wider_t = metal::conditional_t<metal::is_signed_v<T>, __int128, unsigned __int128>;

template <class T>
NORITE_MSL_INLINE constexpr T saturated(wider_t<T> x) {
  constexpr auto low = wider_t<T>(metal::numeric_limits<T>::min());
  constexpr auto high = wider_t<T>(metal::numeric_limits<T>::max());
  return T(x < low ? low : x > high ? high : x);
}
template <class T>
NORITE_MSL_INLINE constexpr T high_product(T x, T y) {
  return T((wider_t<T>(x) * wider_t<T>(y)) >> kBits<T>);
}
template <class T>
NORITE_MSL_INLINE constexpr T leading_zeros(T x) {
  return x ? T(leading_zeros64(ulong(unsigned_t<T>(x))) - (64 - kBits<T>)) : T(kBits<T>);
}
template <class T>
NORITE_MSL_INLINE constexpr T trailing_zeros(T x) {
  return x ? T(trailing_zeros64(ulong(unsigned_t<T>(x)))) : T(kBits<T>);
}
template <class T>
NORITE_MSL_INLINE constexpr T rotated(T x, T by) {
  const auto bits = unsigned_t<T>(x);
  const int n = int(by & T(kBits<T> - 1));
  return n ? T(unsigned_t<T>(bits << n) | unsigned_t<T>(bits >> (kBits<T> - n))) : x;
}
template <class T>
NORITE_MSL_INLINE constexpr T reversed(T x) {
  return T(reversed64(ulong(unsigned_t<T>(x))) >> (64 - kBits<T>));
}
/// n low bits set; n from 0 to the width.
template <class T>
NORITE_MSL_INLINE constexpr unsigned_t<T> low_bits(uint n) {
  return n >= uint(kBits<T>) ? unsigned_t<T>(~0ul) : unsigned_t<T>((1ul << n) - 1);
}
/// Signed types keep the sign of the field.
template <class T>
NORITE_MSL_INLINE constexpr T field(T x, uint offset, uint bits) {
  if (bits == 0) return T(0);
  const uint unused = kBits<T> - bits;
  const auto raised = unsigned_t<T>(unsigned_t<T>(x) << (unused - offset));
  return T(T(raised) >> unused);
}
template <class T>
NORITE_MSL_INLINE constexpr T with_field(T base, T insert, uint offset, uint bits) {
  const auto mask = unsigned_t<T>(low_bits<T>(bits) << offset);
  return T((unsigned_t<T>(base) & ~mask) | (unsigned_t<T>(unsigned_t<T>(insert) << offset) & mask));
}
/// The low 24 bits as a number.
template <class T>
NORITE_MSL_INLINE constexpr T low24(T x) {
  return T(T(uint(x) << 8) >> 8);
}

}  // namespace norite_msl

namespace metal {

#define NORITE_MSL_INTEGER1(name, ...)                                              \
  template <class X, class R = norite_msl::integer_t<X>>                            \
  NORITE_MSL_INLINE constexpr R name(X x0) {                                        \
    using T = norite_msl::element_t<R>;                                             \
    return norite_msl::map<R>(NORITE_MSL_EACH(T x) { return T(__VA_ARGS__); }, x0); \
  }
#define NORITE_MSL_INTEGER2(name, ...)                                                       \
  template <class X, class Y, class R = norite_msl::integer_t<X, Y>>                         \
  NORITE_MSL_INLINE constexpr R name(X x0, Y y0) {                                           \
    using T = norite_msl::element_t<R>;                                                      \
    using Wide [[maybe_unused]] = norite_msl::wider_t<T>;                                    \
    return norite_msl::map<R>(NORITE_MSL_EACH(T x, T y) { return T(__VA_ARGS__); }, x0, y0); \
  }
#define NORITE_MSL_INTEGER3(name, ...)                                           \
  template <class X, class Y, class Z, class R = norite_msl::integer_t<X, Y, Z>> \
  NORITE_MSL_INLINE constexpr R name(X x0, Y y0, Z z0) {                         \
    using T = norite_msl::element_t<R>;                                          \
    using Wide [[maybe_unused]] = norite_msl::wider_t<T>;                        \
    return norite_msl::map<R>(                                                   \
        NORITE_MSL_EACH(T x, T y, T z) { return T(__VA_ARGS__); }, x0, y0, z0);  \
  }

NORITE_MSL_INTEGER1(clz, norite_msl::leading_zeros(x))
NORITE_MSL_INTEGER1(ctz, norite_msl::trailing_zeros(x))
NORITE_MSL_INTEGER1(popcount, norite_msl::ones64(ulong(norite_msl::unsigned_t<T>(x))))
NORITE_MSL_INTEGER1(reverse_bits, norite_msl::reversed(x))
NORITE_MSL_INTEGER2(addsat, norite_msl::saturated<T>(Wide(x) + Wide(y)))
NORITE_MSL_INTEGER2(subsat,
                    x < y && is_unsigned_v<T> ? T(0) : norite_msl::saturated<T>(Wide(x) - Wide(y)))
NORITE_MSL_INTEGER2(hadd, (Wide(x) + Wide(y)) >> 1)
NORITE_MSL_INTEGER2(rhadd, (Wide(x) + Wide(y) + 1) >> 1)
NORITE_MSL_INTEGER2(mulhi, norite_msl::high_product(x, y))
NORITE_MSL_INTEGER2(mul24, norite_msl::low24(x) * norite_msl::low24(y))
NORITE_MSL_INTEGER2(rotate, norite_msl::rotated(x, y))
NORITE_MSL_INTEGER3(mad24, norite_msl::low24(x) * norite_msl::low24(y) + z)
NORITE_MSL_INTEGER3(madhi, norite_msl::high_product(x, y) + z)
NORITE_MSL_INTEGER3(madsat, norite_msl::saturated<T>(Wide(x) * Wide(y) + Wide(z)))
#undef NORITE_MSL_INTEGER1
#undef NORITE_MSL_INTEGER2
#undef NORITE_MSL_INTEGER3

template <class X, class Y, class R = norite_msl::integer_t<X, Y>>
NORITE_MSL_INLINE constexpr auto absdiff(X x0, Y y0) {
  using T = norite_msl::element_t<R>;
  using U = norite_msl::unsigned_t<T>;
  return norite_msl::map<R>(
      NORITE_MSL_EACH(T x, T y) { return x < y ? U(U(y) - U(x)) : U(U(x) - U(y)); }, x0, y0);
}

template <class X, class R = norite_msl::integer_t<X>>
NORITE_MSL_INLINE constexpr R extract_bits(X x0, uint offset, uint bits) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>([=](T x) { return norite_msl::field(x, offset, bits); }, x0);
}

template <class X, class Y, class R = norite_msl::integer_t<X, Y>>
NORITE_MSL_INLINE constexpr R insert_bits(X base0, Y insert0, uint offset, uint bits) {
  using T = norite_msl::element_t<R>;
  return norite_msl::map<R>(
      [=](T base, T insert) { return norite_msl::with_field(base, insert, offset, bits); }, base0,
      insert0);
}

}  // namespace metal
