// SPDX-License-Identifier: MIT
// What clang says, one message at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace norite::msl {

struct ClangNote {
  std::string file;  // empty where the message has no place
  uint32_t line = 0;
  uint32_t column = 0;
  std::string text;
};

/// An error, with the notes that follow it.
struct ClangError : ClangNote {
  std::vector<ClangNote> notes;
};

/// Flags under which the log can be read: errors alone, one line each, whole backtraces.
[[nodiscard]] std::vector<std::string> readable_log_flags();

/// The errors of a log, in their order.
[[nodiscard]] std::vector<ClangError> read_clang_log(std::string_view log);

/// The name under which the library's own text stands in front of the user's.
inline constexpr std::string_view kLibraryName = "metal_stdlib";

/// Where the user wrote what an error is about: its own place, or, inside of the library, that of
/// the use which led there. Null where clang names none.
[[nodiscard]] const ClangNote* users_place(const ClangError& error);

}  // namespace norite::msl
