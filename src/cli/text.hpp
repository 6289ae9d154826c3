// SPDX-License-Identifier: MIT
// Numbers and shapes as people read them.
#pragma once

#include <norite/shape.hpp>

#include <string>

namespace norite::cli {

/// "4096×4096"
std::string shape_text(const Shape& shape);
/// "12.3 µs", "4.56 ms", "1.20 s"
std::string time_text(double microseconds);
/// "3.2e-07"; an infinite error is "wrong".
std::string error_text(double error);

}  // namespace norite::cli
