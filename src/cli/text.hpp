// SPDX-License-Identifier: MIT
// Numbers and shapes as people read them.
#pragma once

#include <norite/shape.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace norite::cli {

/// "4096×4096"
std::string shape_text(const Shape& shape);
/// "12 B", "466 KiB", "214 MiB"
std::string size_text(int64_t bytes);
/// "12.3 µs", "4.56 ms", "1.20 s"
std::string time_text(double microseconds);
/// A word as a shell reads it, in quotes where it needs them.
std::string shell_word(std::string_view word);
/// The text with a question mark for each control character, so that names from files can neither
/// move a terminal's cursor nor look like lines of their own.
std::string printable(std::string_view text);
/// "3.2e-07"; an infinite error is "wrong".
std::string error_text(double error);

}  // namespace norite::cli
