// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "msl/token.hpp"
#include "norite/kernel_registry.hpp"

namespace norite::msl {

/// A header that the text includes, found by the one who gave the text: `name` as written,
/// `includer` the file that wrote it.
struct Header {
  std::string name;  // for messages, and to know it again
  std::string text;
};
using FindHeader =
    std::function<std::optional<Header>(std::string_view name, std::string_view includer)>;

struct Source {
  std::string name;  // the user's file, for messages
  std::string text;
  FindHeader find_header = {};
};

/// Expands includes, conditionals and macros. Metal's own headers are known and empty: their
/// contents come with the shim. Time and memory are bounded whatever the text is.
[[nodiscard]] Result<Text> preprocess(const Source& source, const Specialisation& macros);

}  // namespace norite::msl
