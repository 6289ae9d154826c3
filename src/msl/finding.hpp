// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "msl/token.hpp"
#include "norite/kernel_text.hpp"

namespace norite::msl {

/// A diagnostic whose place is still in terms of the text's files.
struct Finding {
  Diagnostic::Severity severity = Diagnostic::Severity::error;
  Location location = {};
  std::string message;
};

}  // namespace norite::msl
