// SPDX-License-Identifier: MIT
#include "msl/printer.hpp"

#include <fmt/format.h>

namespace norite::msl {

namespace {

std::string quoted(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result + '"';
}

}  // namespace

void Printer::token(const Token& token) {
  if (token.kind == TokenKind::pragma) {
    go_to({token.location.file, token.location.line, 1});
    append("#pragma " + token.text);
    here_.file = ~0U;  // a directive takes its whole line
    out_ += '\n';
    return;
  }
  go_to(token.location);
  append(token.text);
  users_end_ = token.location.column + static_cast<uint32_t>(token.text.size());
}

void Printer::insert(std::string_view text, const Location& location) {
  go_to(location);
  append(text);
}

void Printer::lines(std::string_view text) {
  out_ += '\n';
  out_ += text;
  out_ += '\n';
  here_.file = ~0U;
}

void Printer::go_to(const Location& location) {
  constexpr uint32_t kFewLines = 4;
  const bool near = location.file == here_.file && location.line >= here_.line &&
                    location.line - here_.line <= kFewLines;
  if (!near) {
    out_ += fmt::format("\n#line {} {}\n", location.line, quoted(text_.files[location.file]));
    here_ = {location.file, location.line, 1};
  }
  for (; here_.line < location.line; ++here_.line) {
    out_ += '\n';
    here_.column = 1;
  }
  const uint32_t column = std::min(location.column, 400U);  // no endless lines of blanks
  const bool apart = here_.column > 1 && location.column != users_end_;
  const size_t blanks = column > here_.column ? column - here_.column : apart ? 1 : 0;
  out_.append(blanks, ' ');
  here_.column += static_cast<uint32_t>(blanks);
}

void Printer::append(std::string_view text) {
  out_ += text;
  users_end_ = 0;
  here_.column += static_cast<uint32_t>(text.size());
}

}  // namespace norite::msl
