// SPDX-License-Identifier: MIT
// as_type: the same bits as another type of the same size.
#pragma once
#include "shim/config.h"

namespace metal {

template <class To, class From>
NORITE_MSL_INLINE constexpr To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
  return __builtin_bit_cast(To, from);
}

}  // namespace metal

using metal::as_type;
