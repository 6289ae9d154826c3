// SPDX-License-Identifier: MIT
// Weight gradients sum over every row. A first kernel leaves one f32 partial for each run of rows,
// a second adds the partials up: the order depends on the number of rows alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "norite/encoder.hpp"
#include "ops/check.hpp"

namespace norite::ops {

/// At least one of the gradients is asked for, and dw only where there is a weight.
Result<void> check_gradients(const Check& check, const View& weight, const View& dx,
                             const View& dw);

/// Rows of one partial of a kernel: few enough that every core has work, many enough that the
/// partials' traffic stays small beside the rows' own. Host code wants tens of partials and sums
/// runs of rows; kernel text wants `groups`, all that a GPU runs at once, which share the rows out
/// in turn.
int64_t rows_per_partial(const Encoder& encoder, std::string_view kernel, int64_t rows,
                         int64_t groups);

/// Memory for `partials` rows of `dim` f32, from the device's pool.
Result<View> acquire_partials(Encoder& encoder, std::string_view operation, int64_t partials,
                              int64_t dim);

/// dw = sum of the partials.
Result<void> encode_sum_partials(Encoder& encoder, std::string_view operation, const View& partials,
                                 const View& dw);

}  // namespace norite::ops
