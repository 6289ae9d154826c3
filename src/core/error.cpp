// SPDX-License-Identifier: MIT
#include "norite/error.hpp"

namespace norite {

std::string_view name(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::already_exists:
      return "already_exists";
    case Code::unsupported:
      return "unsupported";
    case Code::failed_precondition:
      return "failed_precondition";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::unavailable:
      return "unavailable";
    case Code::compile_failed:
      return "compile_failed";
    case Code::execution_failed:
      return "execution_failed";
    case Code::timeout:
      return "timeout";
    case Code::check_failed:
      return "check_failed";
    case Code::bad_file:
      return "bad_file";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace norite
