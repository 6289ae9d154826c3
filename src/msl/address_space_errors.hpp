// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "msl/clang_log.hpp"

namespace norite::msl {

/// An error of the text that lower_for_lint makes, in Metal's words, if it says that the user mixed
/// two address spaces; nothing if it may be about anything else. A kernel that is right is never
/// accused: errors about the generic space, which Metal does not have, do not count.
[[nodiscard]] std::optional<std::string> address_space_error(const ClangError& error);

}  // namespace norite::msl
