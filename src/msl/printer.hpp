// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "msl/token.hpp"

namespace norite::msl {

/// Writes tokens so that a compiler sees them at the user's file, line and, where nothing before
/// them on the line was rewritten, column.
class Printer {
 public:
  explicit Printer(const Text& text) : text_(text) {}

  void token(const Token& token);
  /// Text of our own, at the place of the user's that it stands for.
  void insert(std::string_view text, const Location& location);
  /// Text of our own that stands for nothing of the user's. Whole lines.
  void lines(std::string_view text);

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  void go_to(const Location& location);
  void append(std::string_view text);

  const Text& text_;
  std::string out_;
  Location here_ = {~0U, 0, 0};
  // Where the last token ended on the user's line: one that begins there may touch it, others must
  // not, or `1 / *p` would turn into a comment. 0 after text of our own.
  uint32_t users_end_ = 0;
};

}  // namespace norite::msl
