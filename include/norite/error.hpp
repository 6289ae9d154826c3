// SPDX-License-Identifier: MIT
// Errors are values: every call that can fail returns Result<T>, and nothing in the library throws
// across its interface, aborts or exits.
#pragma once

#include <norite/export.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace norite {

enum class Code : uint8_t {
  invalid_argument,     ///< the caller's argument does not fit; the message names it
  not_found,            ///< no kernel, tensor or file of that name
  already_exists,       ///< the name is taken
  unsupported,          ///< valid, but not on this device or in this build
  failed_precondition,  ///< right call, wrong time: encoder already submitted, device closed
  out_of_memory,        ///< the device could not give the memory
  unavailable,          ///< no such device here, it was lost, or a library or file is not there
  compile_failed,       ///< the kernel's text was refused; `log` holds the compiler's words
  execution_failed,     ///< a dispatch failed while it ran
  timeout,              ///< a dispatch, or compiling a kernel, ran past its time limit
  check_failed,         ///< checked mode found mistakes in a kernel
  bad_file,             ///< a file's contents are malformed
  internal,             ///< a bug in Norite
};

/// The code's name as the enumerator is spelled, for logs and JSON.
NORITE_API std::string_view name(Code code) noexcept;

struct Error {
  Code code = Code::internal;
  /// One sentence: the operation, the argument, what was seen, what was expected.
  std::string message;
  /// For compile_failed: the compiler's output, with the kernel's file and line. Else empty.
  std::string log = {};
};

template <class T>
using Result = tl::expected<T, Error>;

/// The error half of a Result: `return fail(Code::invalid_argument, "...");`
[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string message,
                                                std::string log = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(log)});
}

}  // namespace norite

#define NORITE_CONCAT_INNER(a, b) a##b
#define NORITE_CONCAT(a, b) NORITE_CONCAT_INNER(a, b)

/// Evaluates a Result<void> (or drops the value of a Result<T>) and returns its error upward.
#define NORITE_TRY(expression) \
  NORITE_TRY_INNER(NORITE_CONCAT(norite_result_, __COUNTER__), expression)
#define NORITE_TRY_INNER(result, expression)                               \
  do {                                                                     \
    if (auto result = (expression); !result.has_value()) {                 \
      return ::tl::unexpected<::norite::Error>(std::move(result).error()); \
    }                                                                      \
  } while (false)

/// `NORITE_TRY_ASSIGN(auto x, device.empty(...));` declares x or returns the error upward.
#define NORITE_TRY_ASSIGN(declaration, expression) \
  NORITE_TRY_ASSIGN_INNER(NORITE_CONCAT(norite_result_, __COUNTER__), declaration, expression)
#define NORITE_TRY_ASSIGN_INNER(result, declaration, expression)         \
  auto result = (expression);                                            \
  if (!result.has_value()) {                                             \
    return ::tl::unexpected<::norite::Error>(std::move(result).error()); \
  }                                                                      \
  declaration = *std::move(result)
