// SPDX-License-Identifier: MIT
// Which elements of an 8x8 matrix a lane holds: two neighbours of a row.
#pragma once
#include "shim/config.h"
#include "shim/cpu_meeting.h"
#include "shim/types.h"

namespace norite_msl {

/// The two elements of a lane are (row, column) and (row, column + 1).
struct MatrixPlace {
  uint row, column;

  static NORITE_MSL_INLINE constexpr MatrixPlace of(uint lane) {
    return {(lane & 16) / 4 + (lane / 2) % 4, (lane & 8) / 2 + (lane % 2) * 2};
  }
  static NORITE_MSL_INLINE MatrixPlace own() { return of(lane_index()); }
};

}  // namespace norite_msl
