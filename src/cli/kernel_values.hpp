// SPDX-License-Identifier: MIT
// Single elements of arrays as people write and read them.
#pragma once

#include <norite/dtype.hpp>
#include <norite/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace norite::cli {

/// Appends a value's bytes. Integers: decimal or 0x..., in range. Floats: decimal, 0x...p..., inf
/// or nan, rounded once to nearest even; a finite one beyond the dtype's range is refused. Errors:
/// invalid_argument.
Result<void> append_value(std::vector<std::byte>& bytes, DType dtype, std::string_view text);

/// The number as a table shows it.
std::string value_text(DType dtype, double value);

}  // namespace norite::cli
