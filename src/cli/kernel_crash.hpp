// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace norite::cli {

/// While this lives, a fault of the processor (an access far outside of a buffer, a division of
/// integers by zero) ends the command with a message about the kernel and ExitCode::check_failed.
/// One at a time.
class CrashMessage {
 public:
  explicit CrashMessage(std::string_view kernel);
  ~CrashMessage();
  CrashMessage(const CrashMessage&) = delete;
  CrashMessage& operator=(const CrashMessage&) = delete;
};

}  // namespace norite::cli
