// SPDX-License-Identifier: MIT
#include "msl/preprocess_limits.hpp"

#include <fmt/format.h>

namespace norite::msl {

Result<void> check_size(std::string_view name, std::string_view text) {
  constexpr size_t kMaxBytes = 8 << 20;
  constexpr int kMaxParentheses = 512;  // on one line
  if (text.size() > kMaxBytes) {
    return fail(Code::compile_failed,
                fmt::format("{}: {} bytes, at most {} expected", name, text.size(), kMaxBytes));
  }
  int line = 1;
  int parentheses = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool continued = i > 0 && text[i - 1] == '\\';
    parentheses += c == '(' ? 1 : 0;
    if (c == '\0' || parentheses > kMaxParentheses) {
      return fail(Code::compile_failed,
                  c == '\0' ? fmt::format("{}:{}: a zero byte", name, line)
                            : fmt::format("{}:{}: more than {} parentheses on one line", name, line,
                                          kMaxParentheses));
    }
    if (c != '\n') continue;
    ++line;
    if (!continued) parentheses = 0;
  }
  return {};
}

}  // namespace norite::msl
