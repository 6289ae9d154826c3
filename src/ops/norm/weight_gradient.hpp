// SPDX-License-Identifier: MIT
// Weight gradients sum over every row. A first kernel leaves one f32 partial for each run of rows,
// a second adds the partials up: the order depends on the number of rows alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "norite/encoder.hpp"

namespace norite::ops {

/// Rows of one partial: few enough that every core has work, many enough that the partials' traffic
/// stays below 1/16 of the rows' own.
int64_t rows_per_partial(int64_t rows) noexcept;

/// Memory for `partials` rows of `dim` f32, from the device's pool.
Result<View> acquire_partials(Encoder& encoder, std::string_view operation, int64_t partials,
                              int64_t dim);

/// dw = sum of the partials.
Result<void> encode_sum_partials(Encoder& encoder, std::string_view operation, const View& partials,
                                 const View& dw);

}  // namespace norite::ops
