// SPDX-License-Identifier: MIT
// Tokens of preprocessed kernel text, each with its place in the user's files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "norite/error.hpp"

namespace norite::msl {

struct Location {
  uint32_t file = 0;  // index into Text::files
  uint32_t line = 0;
  uint32_t column = 0;
};

enum class TokenKind : uint8_t { identifier, number, string, punctuation, pragma };

struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::string text;  // a pragma is one token: everything after "#pragma "
  Location location;

  [[nodiscard]] bool is(std::string_view spelling) const noexcept { return text == spelling; }
  [[nodiscard]] bool is_identifier() const noexcept { return kind == TokenKind::identifier; }
};

using Tokens = std::vector<Token>;

/// Preprocessed text: no comment, no directive but pragmas, every macro of the user's expanded.
struct Text {
  std::vector<std::string> files;  // names as the user knows them
  Tokens tokens;
  std::vector<std::string> metal_headers = {};  // that it includes, in their order

  /// "file:line:column", for messages.
  [[nodiscard]] std::string where(const Location& location) const;
};

/// A compile_failed error whose message starts with the place.
[[nodiscard]] tl::unexpected<Error> refuse(const Text& text, const Location& location,
                                           std::string_view message);

/// For every bracket the index of its partner, for other tokens their own index. Brackets are
/// () [] {}; refuses text in which they do not match or nest deeper than any kernel does.
[[nodiscard]] Result<std::vector<size_t>> match_brackets(const Text& text);

}  // namespace norite::msl
