// SPDX-License-Identifier: MIT
// What keeps hostile text from taking all time and memory while macros are expanded.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "norite/error.hpp"

namespace norite::msl {

/// Counts what a run has made so far. Real kernel files need about a tenth of each limit.
class ExpansionBudget {
 public:
  struct Exhausted : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  void spend_expansion(size_t tokens) {
    expanded_ += tokens + 1;
    if (expanded_ > 6'000'000) throw Exhausted("its macros expand to too much text");
  }
  void spend_token() {
    if (++tokens_ > 8'000'000) throw Exhausted("more than 8 million tokens");
  }
  void spend_text(std::string_view header) {
    included_ += header.size();
    if (included_ > 64 << 20) throw Exhausted("more than 64 MiB of headers");
  }

 private:
  size_t expanded_ = 0;
  size_t tokens_ = 0;
  size_t included_ = 0;
};

/// Refuses text that is too long, holds control characters, or whose lines would exhaust the
/// preprocessor's own recursion.
[[nodiscard]] Result<void> check_size(std::string_view name, std::string_view text);

}  // namespace norite::msl
