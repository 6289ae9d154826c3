// SPDX-License-Identifier: MIT
// Behind the library where clang judges address spaces: there a reference in any space makes
// template arguments of types that name the space, about which the library would know nothing.
#pragma once

namespace norite_msl {

#define NORITE_MSL_SPACE(space)                                            \
  template <class X>                                                       \
  inline constexpr int kCount<space X> = kCount<X>;                        \
  template <class T, int N>                                                \
  struct Argument<space metal::vec<T, N>> : Argument<metal::vec<T, N>> {}; \
  template <class T, int N>                                                \
  struct Argument<space metal::packed_vec<T, N>> : Argument<metal::vec<T, N>> {};
NORITE_MSL_SPACE(norite_device)
NORITE_MSL_SPACE(norite_constant)
NORITE_MSL_SPACE(norite_threadgroup)
NORITE_MSL_SPACE(norite_thread)
NORITE_MSL_SPACE(__global)
NORITE_MSL_SPACE(__generic)
#undef NORITE_MSL_SPACE

}  // namespace norite_msl
