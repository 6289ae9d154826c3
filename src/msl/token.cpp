// SPDX-License-Identifier: MIT
#include "msl/token.hpp"

#include <fmt/format.h>

namespace norite::msl {

namespace {

constexpr size_t kMaxNesting = 256;

char partner_of(char opening) { return opening == '(' ? ')' : opening == '[' ? ']' : '}'; }

}  // namespace

std::string Text::where(const Location& location) const {
  if (location.file >= files.size()) return fmt::format("line {}", location.line);
  return fmt::format("{}:{}:{}", files[location.file], location.line, location.column);
}

tl::unexpected<Error> refuse(const Text& text, const Location& location, std::string_view message) {
  return fail(Code::compile_failed, fmt::format("{}: {}", text.where(location), message));
}

Result<std::vector<size_t>> match_brackets(const Text& text) {
  const Tokens& tokens = text.tokens;
  std::vector<size_t> partner(tokens.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    partner[i] = i;
    const Token& token = tokens[i];
    if (token.kind != TokenKind::punctuation || token.text.size() != 1) continue;
    const char c = token.text[0];
    if (c == '(' || c == '[' || c == '{') {
      open.push_back(i);
      if (open.size() > kMaxNesting) {
        return refuse(text, token.location,
                      fmt::format("brackets nest deeper than {} levels", kMaxNesting));
      }
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || partner_of(tokens[open.back()].text[0]) != c) {
        return refuse(text, token.location, fmt::format("'{}' closes nothing", c));
      }
      partner[i] = open.back();
      partner[open.back()] = i;
      open.pop_back();
    }
  }
  if (!open.empty()) {
    return refuse(text, tokens[open.back()].location,
                  fmt::format("'{}' is never closed", tokens[open.back()].text));
  }
  return partner;
}

}  // namespace norite::msl
