// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace norite::core {

/// A text file of the project, as it was when the library was built.
struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};

}  // namespace norite::core
